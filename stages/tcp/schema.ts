/** The wire shape of tcp: TCP settings of connections to a backend. Connections of policies share it. */
import { BackendTcp as Tcp } from "../../spec/connection/tcp.ts"
import { declared } from "../../spec/standalone/policies.ts"

export { Tcp }

export const tcp = declared(Tcp, { places: ["backend"] })
