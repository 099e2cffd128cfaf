/** directResponse: answers without a backend. It runs last, so that everything that may refuse has had its say. */
import { Effect } from "effect"
import { HeaderList } from "../../src/http/header-list.ts"
import { policy, respond } from "../../src/pipeline/stage.ts"
import { DirectResponse } from "./schema.ts"

export const directResponse = policy({
  name: "directResponse",
  traceKey: "directResponse",
  schema: DirectResponse,
  sites: ["route"],
  responds: [],
  reads: [],
  writes: [],
  outcomes: ["respond"],
  maturity: { status: "stable", untrusted: "client" },
  compile: ({ status, body }) =>
    Effect.sync(() => [
      {
        name: "directResponse",
        phase: "request",
        run: () => respond({ status, headers: new HeaderList(), body })
      }
    ])
})
