/** The wire shape of networkExtAuthz: a server decides which connections are accepted. */
import { Authorizer } from "../../spec/authorizer.ts"
import { named, ruled } from "../../spec/field.ts"
import { declared } from "../../spec/standalone/policies.ts"

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
