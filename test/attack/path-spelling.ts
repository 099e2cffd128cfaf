/** Header and path spelling: paths that only a backend takes for the protected one. `spellings.ts` says how they are drawn and judged. */
import { Effect, Schema } from "effect"
import * as Arbitrary from "effect/Arbitrary"
import { frameRequest } from "../../src/http/framing.ts"
import { whole } from "../../src/main/testing/whole.ts"
import { type AttackCase, attack, type Trial } from "./attack.ts"
import { configuration, finders, spellings } from "./spellings.ts"

interface Spelled extends AttackCase {
  readonly path: string
}

const spelled = (path: string): Spelled => ({ title: path, path })

/** What was tried by hand on the first day, and what lies near. */
const known = [
  ...["/files/%70rivate/a", "/files//private/a", "/files/./private/a", "/files/%2e/private/a", "/files/x/../private/a"],
  ...["/files/x/%2e%2e/private/a", "/files/x%2f..%2fprivate/a", "/x/../files/private/a", "//files/private/a"],
  ...["/files/%50rivate/a", "/files/priv%61te/a", "/files/%2570rivate/a", "/files/private%2fa", "/files%2fprivate/a"],
  ...[
    "/files/private;x/a",
    "/files/private;/a",
    "/files/;/private/a",
    "/files/..;/files/private/a",
    "/files/x/..;/private"
  ],
  ...["/files\\private\\a", "/files%5cprivate", "/files/x%5c..%5cprivate", "/files/private%00", "/files/%00/private"],
  ...["/files/private%3fa", "/files/private%23a", "/files/.private", "/files/./", "/files/%c0%ae%c0%ae/private"],
  ...["/files/x/%252e%252e/private", "/files/private%", "/files/%70%72%69%76%61%74%65/a", "/files/.%2fprivate/a"],
  ...["/files/@staff/x", "/files/%40staff/x", "/files/one%3Akey", "/files/one:key", "/%66iles/private/a"],
  ...["/ruled//private/a", "/ruled/%70rivate/a", "/ruled/private%2Fa", "/ruled/private;x/a", "/ruled/./private/a"],
  ...["/chosen/%70rivate", "/chosen/private%2Fa", "/chosen//private/a", "/rewritten/../../etc/passwd"],
  ...[
    "/rewritten/..%2f..%2fetc/passwd",
    "/rewritten/%2e%2e/%2e%2e/etc",
    "/rewritten/..;/..;/etc",
    "/rewritten/..%5cetc"
  ]
]

const open = Effect.gen(function* () {
  const { world, send } = yield* whole(configuration(80, "backend.example:80"))
  const trial: Trial<Spelled> = ({ path }) =>
    Effect.gen(function* () {
      const framed = frameRequest("GET", path, "1.1", ["host", "h"], "http", "normalised")
      const request = {
        method: "GET",
        scheme: "http",
        authority: "h",
        path,
        headers: [],
        body: undefined,
        prefix: undefined
      } as const
      const { status, received, defects } = yield* send(request, { watched: false })
      world.received.length = 0
      if (defects.length > 0) return yield* Effect.fail(defects[0])
      if (framed._tag === "Malformed" && status !== 400) return yield* Effect.fail("the edge would have refused it")
      const found = received === undefined ? [] : finders(received.path)
      if (found.length > 0) return yield* Effect.fail(`${received?.path} was forwarded, and found by ${found}`)
      if (received === undefined && ![400, 401, 403, 404].includes(status))
        return yield* Effect.fail(`answered with ${status}`)
    })
  return trial
})

export const pathSpelling = attack<Spelled>({
  class: "header and path spelling",
  name: "path spelling",
  proves: "no spelling of a path shows a backend what its sender may not have",
  cases: [...new Set(known)].map(spelled),
  generated: {
    cases: Arbitrary.map(Arbitrary.schema(Schema.Int), (seed) => spelled(spellings(seed)())),
    few: 1_000,
    many: 200_000
  },
  open
})
