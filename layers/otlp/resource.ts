/** Who sends the telemetry: the service, its version and where it runs; OTEL_RESOURCE_ATTRIBUTES and OTEL_SERVICE_NAME win. */
import { hostname } from "node:os"
import {
  defaultResource,
  detectResources,
  envDetector,
  type Resource,
  resourceFromAttributes
} from "@opentelemetry/resources"

export const scope = { name: "headgate" }

export const makeResource = (version: string, env: Readonly<Record<string, string | undefined>>): Resource =>
  defaultResource()
    .merge(
      resourceFromAttributes({
        "service.name": "headgate",
        "service.version": version,
        "host.name": hostname(),
        ...given("k8s.pod.name", env["POD_NAME"]),
        ...given("k8s.namespace.name", env["NAMESPACE"]),
        ...given("k8s.node.name", env["NODE_NAME"])
      })
    )
    .merge(detectResources({ detectors: [envDetector] }))

const given = (key: string, value: string | undefined) => (value === undefined ? {} : { [key]: value })
