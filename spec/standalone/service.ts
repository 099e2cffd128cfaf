/** Services: names for several endpoints that do the same, between which calls are balanced. */
import { Schema } from "effect"
import { defaulted, object, optional, required } from "../field.ts"
import { Count, PortNumber, ShortString } from "../primitives.ts"
import { EndpointAddress } from "../target.ts"

const ServiceEndpoint = object("ServiceEndpoint", "One of the endpoints of a service.", {
  address: required(
    EndpointAddress,
    "Where it is; its own port wins over that of the service. A host name is one endpoint, however many addresses it has."
  ),
  capacity: defaulted(Count, 1, "How much it takes beside the others. 0 takes no more calls.")
})

const ServicePort = object("ServicePort", "A port of a service.", {
  port: required(PortNumber, "The port by which a reference names it."),
  targetPort: optional(PortNumber, "The port of the endpoints; the same when left out.")
})

/** Of an address as it is written. */
const ownPort = /:[0-9]+$/

/** A service. */
export const Service = object(
  "Service",
  "Endpoints that do the same. Calls are balanced between them: healthy, fast and idle ones are preferred.",
  {
    namespace: defaulted(ShortString, "default", "Its namespace."),
    hostname: required(ShortString, "Its host name; a reference names the service as `<namespace>/<hostname>`."),
    ports: optional(
      Schema.Array(ServicePort),
      "Its ports. When left out it has every port, and the endpoints have the same ones."
    ),
    endpoints: optional(
      Schema.Array(ServiceEndpoint),
      "Its endpoints. Where there is none that takes calls, requests are answered with 503."
    )
  },
  {
    check: ({ ports = [], endpoints = [] }) => {
      const again = (values: ReadonlyArray<number | string>) =>
        values.findIndex((value, at) => values.indexOf(value) < at)
      const port = again(ports.map(({ port }) => port))
      if (port >= 0) return { path: ["ports", port, "port"], issue: "the service has this port already" }
      // With no ports of its own it is asked by any, which nobody knows here.
      const targets = ports.length === 0 ? [undefined] : ports.map(({ port, targetPort = port }) => targetPort)
      for (const target of targets) {
        const endpoint = again(
          endpoints.map(({ address }) => {
            const own = target === undefined || ownPort.test(address) ? address : `${address}:${target}`
            return own.toLowerCase()
          })
        )
        if (endpoint >= 0)
          return { path: ["endpoints", endpoint, "address"], issue: "the service has this endpoint already" }
      }
      return undefined
    }
  }
)

/** A decoded service. */
export type ServiceConfig = (typeof Service)["Type"]
