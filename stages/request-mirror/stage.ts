/** requestMirror: copies of requests go to other backends, whose answers nobody waits for. */
import { isIP } from "node:net"
import { Effect, Result } from "effect"
import {
  type BodyObserver,
  type ConfigPath,
  type ConfigProblem,
  type Mirror,
  next,
  observe,
  openMirror,
  policy,
  Random,
  SubCalls,
  type Verdict,
  type View,
  type WatchCall,
  WatchCalls
} from "../../src/policy/policy.ts"
import { RequestMirror } from "./schema.ts"

type Seen = View<never, never>
type One = (typeof RequestMirror)["Type"][number]

/** Bytes of a body that a copy has. */
const mostBody = 65_536

/** Connections of their own: no call of somebody else waits for one of a mirror. */
const connections = { maxConnections: 64 }

export const requestMirror = policy({
  name: "requestMirror",
  traceKey: "requestMirror",
  schema: RequestMirror,
  sites: ["route", "backend"],
  responds: [],
  reads: [],
  writes: [],
  outcomes: ["next"],
  maturity: { status: "stable", untrusted: "client+backend" },
  compile: (mirrors, { path }) =>
    Effect.gen(function* () {
      const problems: Array<ConfigProblem> = []
      const nodes: Array<{
        readonly name: string
        readonly phase: "request"
        readonly run: (x: Seen) => Effect.Effect<Verdict>
      }> = []
      for (const [index, mirror] of mirrors.entries()) {
        const several = mirrors.length > 1
        const compiled = yield* Effect.result(compileMirror(mirror, [...path, ...(several ? [index] : []), "backend"]))
        if (Result.isFailure(compiled)) problems.push(...below(path, compiled.failure))
        // What nobody gets is copied for nobody.
        else if (mirror.percentage > 0)
          nodes.push({
            name: index === 0 ? "requestMirror" : `requestMirror ${index + 1}`,
            phase: "request",
            run: compiled.success
          })
      }
      return problems.length > 0 ? yield* Effect.fail(problems) : nodes
    })
})

/** What is wrong below a path, reckoned from there. What is wrong elsewhere is told there. */
const below = (path: ConfigPath, problems: ReadonlyArray<ConfigProblem>): ReadonlyArray<ConfigProblem> =>
  problems.flatMap((problem) =>
    path.every((key, index) => problem.path[index] === key)
      ? [{ ...problem, path: problem.path.slice(path.length) }]
      : []
  )

const compileMirror = ({ backend, percentage }: One, path: ConfigPath) =>
  Effect.gen(function* () {
    const caller = yield* (yield* SubCalls).resolve(backend, path, { connections })
    const mirror = yield* openMirror(caller)
    const random = yield* Random
    // A backend that is known by a name is asked under it, any other one under the name that the client asked for.
    const isNamed = backend.host?.kind === "tcp" && isIP(backend.host.host.replace(/^\[|\]$/g, "")) === 0
    const copy = (x: Seen, watch: WatchCall | undefined): Verdict => {
      copied(x, isNamed ? undefined : x.request.authority, mirror, watch)
      return undefined
    }
    return (x: Seen): Effect.Effect<Verdict> => {
      // Whatever becomes of it at the backend, it is one request.
      if (x.attempt > 1 || (percentage < 1 && random() >= percentage)) return next
      if (x.watched) return Effect.withFiber((fiber) => Effect.succeed(copy(x, fiber.getRef(WatchCalls))))
      copy(x, undefined)
      return next
    }
  })

/** The request as it stands goes on to the mirror once its body is whole, or cannot be any more. */
const copied = (x: Seen, authority: string | undefined, mirror: Mirror, watch: WatchCall | undefined): void => {
  const { method, pathAndQuery } = x.request
  const headers = x.request.headers.clone()
  headers.delete("expect")
  const { asking } = x
  const { heldBytes } = asking.settings
  let chunks: Array<Uint8Array> | undefined = []
  let size = 0
  const send = (body: Uint8Array | undefined): void => {
    if (chunks === undefined) return
    chunks = undefined
    heldBytes.giveBack(size)
    // The body that is sent says by itself how long it is.
    headers.delete("content-length")
    mirror.send(asking, { method, pathAndQuery, authority, headers, body }, watch)
  }
  const observer: BodyObserver = {
    data: (chunk) => {
      if (chunks === undefined) return
      if (size + chunk.length > mostBody || !heldBytes.take(chunk.length)) send(undefined)
      else {
        chunks.push(chunk)
        size += chunk.length
      }
    },
    end: (failure) => {
      if (chunks !== undefined) send(failure === undefined && size > 0 ? Buffer.concat(chunks) : undefined)
    }
  }
  if (x.requestBody === undefined) send(undefined)
  else x.requestBody = observe(x.requestBody, observer)
  // A body that nobody has read to its end.
  if (chunks !== undefined) x.onFinish(() => send(undefined))
}
