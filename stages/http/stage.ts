/** http: how long each call of a backend may take, and for how long its bodies may stand still. */
import { Effect } from "effect"
import { connectionPolicy } from "../../src/policy/connection.ts"
import { unavailable } from "../../src/policy/policy.ts"
import { Http } from "./schema.ts"

export const http = connectionPolicy({
  name: "http",
  schema: Http,
  maturity: { status: "stable", untrusted: "none" },
  compile: ({ version = "HTTP/1.1", requestTimeout, idleTimeout }) =>
    version === "HTTP/1.1"
      ? Effect.succeed({ requestTimeout, bodyIdleTimeout: idleTimeout })
      : Effect.fail([{ ...http2, message: `${http2.message}: it comes with HTTP/2 of listeners` }])
})

const http2 = unavailable(["version"], "HTTP/2 towards backends")
