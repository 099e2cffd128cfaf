/** http: how long each call of a backend may take, and for how long its bodies may stand still. */
import { Effect } from "effect"
import { connectionPolicy } from "../../src/policy/connection.ts"
import { type ConfigProblem, unavailable } from "../../src/policy/policy.ts"
import { Http } from "./schema.ts"

export const http = connectionPolicy({
  name: "http",
  schema: Http,
  maturity: { status: "stable", untrusted: "none" },
  compile: ({ version = "HTTP/1.1", requestTimeout, idleTimeout }) => {
    const problems: Array<ConfigProblem> = []
    if (version !== "HTTP/1.1")
      problems.push({ ...http2, message: `${http2.message}: it comes with HTTP/2 of listeners` })
    if (idleTimeout === 0)
      problems.push({ path: ["idleTimeout"], message: "expected more than 0; left out there is no limit" })
    return problems.length > 0
      ? Effect.fail(problems)
      : Effect.succeed({ requestTimeout, bodyIdleTimeout: idleTimeout })
  }
})

const http2 = unavailable(["version"], "HTTP/2 towards backends")
