/** http: in which version a backend is called, how long each call of a backend may take, and for how long its bodies may stand still. */
import { Effect } from "effect"
import { connectionPolicy } from "../../src/policy/connection.ts"
import { Http } from "./schema.ts"

export const http = connectionPolicy({
  name: "http",
  schema: Http,
  maturity: { status: "stable", untrusted: "none" },
  compile: ({ version, requestTimeout, idleTimeout }) =>
    Effect.succeed({
      version: version === undefined ? undefined : version === "HTTP/1.1" ? "1.1" : "2",
      requestTimeout,
      bodyIdleTimeout: idleTimeout
    })
})
