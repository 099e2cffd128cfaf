/** http: how long each call of a backend may take. */
import { Effect } from "effect"
import { connectionPolicy } from "../../src/policy/connection.ts"
import { unavailable } from "../../src/policy/policy.ts"
import { Http } from "./schema.ts"

export const http = connectionPolicy({
  name: "http",
  schema: Http,
  maturity: { status: "stable", untrusted: "none" },
  compile: ({ version, requestTimeout }) =>
    version === undefined ? Effect.succeed({ requestTimeout }) : Effect.fail([unavailable(["version"], "version")])
})
