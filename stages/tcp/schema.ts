/** The wire shape of tcp: TCP settings of connections to a backend. Connections of policies share it. */
import { declared, BackendTcp as Tcp } from "../../spec/policy.ts"

export { Tcp }

export const tcp = declared(Tcp, { places: ["backend"] })
