/** The wire shape of proxyProtocol: the header with which a load balancer tells the address of the client. */
import { Schema } from "effect"
import { declared, defaulted, object } from "../../spec/policy.ts"

export const ProxyProtocol = object(
  "ProxyProtocol",
  "Reads the PROXY header of a load balancer, which tells the address of the client: before TLS and before anything decides about the connection. `source.address`, limits and logs are about that client then; `source.rawAddress` is the balancer. Whoever reaches the port can speak it, so let nobody else do so: rules over connections may ask for `source.rawAddress`. The header must come within 5 seconds; without one that would do the connection is closed, and counted in `connections_refused_total`.",
  {
    version: defaulted(Schema.Literals(["v1", "v2", "all"]), "v2", "Versions that are accepted."),
    mode: defaulted(
      Schema.Literals(["strict", "optional"]),
      "strict",
      "Whether a connection without the header is closed."
    )
  }
)

export const proxyProtocol = declared(ProxyProtocol, { places: ["frontend"], alias: "proxy" })
