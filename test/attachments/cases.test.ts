/** Golden configurations: policies attached in several places at once, and what requests see of them, worked out by hand. */
import { readFileSync } from "node:fs"
import { join } from "node:path"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Schema } from "effect"
import { differences, readExpectations } from "../../src/main/testing/expectation.ts"
import { whole } from "../../src/main/testing.ts"
import { effectiveOf, textHeaders } from "./seen.ts"

const Asked = Schema.Struct({
  port: Schema.optionalKey(Schema.Int),
  host: Schema.optionalKey(Schema.String),
  method: Schema.optionalKey(Schema.String),
  path: Schema.optionalKey(Schema.String),
  headers: Schema.optionalKey(Schema.Record(Schema.String, Schema.String))
})
const Cases = Schema.Array(
  Schema.Struct({
    title: Schema.String,
    config: Schema.String,
    requests: Schema.NonEmptyArray(
      Schema.Struct({
        request: Schema.optionalKey(Asked),
        /** `status`, `headers`, `body`, what was `received`, and what is `effective` in each phase. */
        expect: Schema.Record(Schema.String, Schema.Unknown)
      })
    )
  })
)

const cases = Schema.decodeUnknownSync(Cases, { onExcessProperty: "error" })(
  readExpectations(readFileSync(join(import.meta.dirname, "cases.yaml"), "utf8"))
)

describe("policies of several places", () => {
  for (const { title, config, requests } of cases)
    it.effect(title, () =>
      Effect.gen(function* () {
        const { send } = yield* whole(config)
        for (const [index, { request = {}, expect }] of requests.entries()) {
          const { port, host = "a.example", method = "GET", path = "/", headers = {} } = request
          const sent = {
            method,
            scheme: "http" as const,
            authority: host,
            path,
            headers: Object.entries(headers),
            body: undefined,
            prefix: undefined
          }
          const played = yield* send(sent, { ...(port === undefined ? {} : { port }) })
          const { status, body, received } = played
          const seen = {
            status,
            body,
            headers: textHeaders(played.headers),
            received: received === undefined ? null : { ...received, headers: textHeaders(received.headers) },
            effective: effectiveOf(played)
          }
          assert.deepStrictEqual(differences(expect, seen, `request ${index}`), [])
        }
      })
    )
})
