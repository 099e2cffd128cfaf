/** The wire shape of proxyProtocol: the header with which a load balancer tells the address of the client. */
import { Schema } from "effect"
import { declared, defaulted, object } from "../../spec/policy.ts"

export const ProxyProtocol = object(
  "ProxyProtocol",
  "Reads the PROXY header of a load balancer, which tells the address of the client.",
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
