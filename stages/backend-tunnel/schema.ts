/** The wire shape of backendTunnel: an HTTP proxy on the way to a backend. Connections of policies share it. */
import { BackendTunnel, declared } from "../../spec/policy.ts"

export { BackendTunnel }

export const backendTunnel = declared(BackendTunnel, { places: ["route", "backend", "tcpBackend"], onRoute: "backend" })
