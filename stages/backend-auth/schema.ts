/** The wire shape of backendAuth: how the proxy authenticates to a backend. Connections of policies share it. */
export { BackendAuth } from "../../spec/connection/policies.ts"
