/** The wire shape of hostRewrite: whose name a backend is asked under. */
import { Schema } from "effect"
import { declared, object, required } from "../../spec/policy.ts"

export const HostRewrite = object(
  "HostRewrite",
  "Whether a backend with a host name is asked under that name. A policy that says which authority the backend sees (`urlRewrite.authority` but `auto`, a modified header `host`) has the last word.",
  {
    mode: required(
      Schema.Literals(["auto", "none"]),
      "`auto` is what happens without the policy: a backend with a host name sees that name. `none`: it sees the authority that the client asked for."
    )
  }
)

export const hostRewrite = declared(HostRewrite, { places: ["route"] })
