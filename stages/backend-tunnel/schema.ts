/** The wire shape of backendTunnel: an HTTP proxy on the way to a backend. Connections of policies share it. */
export { BackendTunnel } from "../../spec/connection/policies.ts"
