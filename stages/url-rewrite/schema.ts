/** The wire shape of urlRewrite: another authority or path towards the backend. */
import { AuthorityRewrite, declared, object, optional, PathRewrite } from "../../spec/policy.ts"

export const UrlRewrite = object("UrlRewrite", "Rewrites the URL of the request before it is sent to the backend.", {
  authority: optional(
    AuthorityRewrite,
    "The authority that the backend sees. When left out, a backend with a host name sees that name."
  ),
  path: optional(PathRewrite, "The path that the backend sees.")
})

export const urlRewrite = declared(UrlRewrite, {
  places: ["route"],
  judgesPaths: ({ path }) => path?.full !== undefined
})
