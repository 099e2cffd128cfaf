/** The wire shape of networkExtAuthz: a server decides which connections are accepted. */
import { Authorizer, declared, named, ruled } from "../../spec/policy.ts"

export const NetworkExtAuthz = named(
  ruled(Authorizer, {
    check: (form) =>
      "protocol" in form && "http" in form.protocol! ? undefined : "networkExtAuthz requires protocol.http",
    jsonSchema: { required: ["protocol"], properties: { protocol: { required: ["http"] } } }
  }),
  "NetworkExtAuthz",
  "Asks a server over HTTP whether a connection is accepted. A refusal closes it."
)

export const networkExtAuthz = declared(NetworkExtAuthz, { places: ["frontend"], decides: "connection" })
