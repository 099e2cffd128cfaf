/** The ports of services, each of which is a backend with several endpoints. */

import { none } from "./normalise/policies.ts"
import type { Backend, Normalised, ServicePort } from "./normalised.ts"

/** The backend at a port of a service; `undefined` where the file says of no such port. */
export const servicePort = (
  { services }: Pick<Normalised, "services">,
  service: string,
  port: number
): Backend | undefined => {
  const found = services[service]
  if (found === undefined) return undefined
  const { ports, endpoints = [] } = found.config
  const own = ports === undefined ? { port, targetPort: port } : ports.find((each) => each.port === port)
  if (own === undefined) return undefined
  const { targetPort = port } = own
  const config: ServicePort = {
    service,
    port,
    endpoints: endpoints.map(({ address: { host, port: ownPort = targetPort }, capacity }) => ({
      address: { kind: "tcp", host, port: ownPort, tls: false },
      capacity
    }))
  }
  return backendOf(config, found.path)
}

/** The backend at a port of a service of which somebody else knows the endpoints. */
export const discoveredPort = (service: string, port: number): Backend =>
  backendOf({ service, port, endpoints: [] }, ["services"])

const backendOf = (config: ServicePort, path: Backend["path"]): Backend => ({
  key: `service/${config.service}:${config.port}`,
  name: config.service,
  namespace: "",
  destination: { kind: "service", config },
  policies: none,
  path
})
