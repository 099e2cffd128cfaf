/** The wire shape of tcp: TCP settings of connections to a backend. Connections of policies share it. */
export { BackendTcp as Tcp } from "../../spec/connection/tcp.ts"
