/** The wire shape of backendTLS: TLS towards a backend. Connections of policies share it. */
export { BackendTls } from "../../spec/connection/tls.ts"
