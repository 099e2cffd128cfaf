/** The wire shape of backendTunnel: an HTTP proxy on the way to a backend. Connections of policies share it. */
import { BackendTunnel } from "../../spec/connection/policies.ts"
import { declared } from "../../spec/standalone/policies.ts"

export { BackendTunnel }

export const backendTunnel = declared(BackendTunnel, { places: ["route", "backend", "tcpBackend"], onRoute: "backend" })
