/** Policies of somebody else that run beside the call of the backend, and keep what they know over their phases. */
import { request as httpRequest, type ServerResponse } from "node:http"
import { assert, describe, it } from "@effect/vitest"
import { Data, Deferred, Effect, Exit, Schema, Stream } from "effect"
import { makeHeadgate } from "../src/main/library.ts"
import {
  type Answer,
  HeaderList,
  after as inserted,
  next,
  object,
  optional,
  policies,
  policy,
  registry,
  required,
  respond,
  type StageError,
  slotsOf,
  state,
  type Verdict
} from "../src/main/policy.ts"
import { policyLaws, traceProblems } from "../src/main/testing.ts"
import { type TraceEvent, watch } from "../src/main/trace.ts"
import { send } from "./client.ts"
import { httpBackend, portOf } from "./http/edge.ts"
import { eventually, RawClient } from "./http/raw-client.ts"
import { type OriginAnswer, origin } from "./origin.ts"

class Against extends Data.TaggedError("Against") implements StageError {
  readonly status = 451
  readonly source = "client"
  override readonly message = "there is something against it"
}

/** A backend that begins an answer, and says no more than it is told to. */
const beginning = (text: string) =>
  Effect.gen(function* () {
    let answer: ServerResponse | undefined
    let isLeft = false
    const server = yield* httpBackend((_, response) => {
      answer = response
      response.writeHead(200, { "content-type": "text/plain" })
      response.write(text)
      response.on("close", () => {
        isLeft = true
      })
    })
    return {
      address: `127.0.0.1:${portOf(server.address())}`,
      goesOn: (more: string) => answer?.write(more),
      isLeft: () => isLeft
    }
  })

const refusal = (): Answer => ({ status: 403, headers: new HeaderList(["x-by", "guard"]), body: "stopped" })

/** A guard whose verdicts come when the test gives them. */
const guarding = () => {
  const asked: Array<Deferred.Deferred<Verdict, Against>> = []
  const seen = { calledOff: 0 }
  const guard = policy({
    name: "guard",
    traceKey: "guard",
    schema: object("Guard", "Has its say while the backend is called.", {
      keeps: optional(Schema.Boolean, "Whether the answer waits for it."),
      open: optional(Schema.Boolean, "Whether its failures are forgiven.")
    }),
    sites: ["route", "backend"],
    responds: ["call"],
    reads: [],
    writes: [],
    outcomes: ["next", "respond", "fail"],
    failOpen: ({ open }) => open === true,
    maturity: { status: "alpha", untrusted: "client+backend" },
    compile: ({ keeps = true }, _) =>
      Effect.succeed([
        {
          name: "guard",
          phase: "call",
          answerWaits: keeps,
          run: () =>
            Effect.suspend(() => {
              const verdict = Deferred.makeUnsafe<Verdict, Against>()
              asked.push(verdict)
              return Effect.onInterrupt(Deferred.await(verdict), () => Effect.sync(() => void seen.calledOff++))
            })
        }
      ])
  })
  const headgate = makeHeadgate({
    registry: registry([...policies.policies, guard], {
      ...policies.orders,
      route: inserted(policies.orders.route, "cors", "guard"),
      backend: [...policies.orders.backend, "guard"],
      call: [...policies.orders.call, "route guard", "backend guard"]
    })
  })
  return { headgate, asked, seen }
}

const withGuard = (settings: string, answer: OriginAnswer | Parameters<typeof origin>[0], more = "") =>
  Effect.gen(function* () {
    const { headgate, asked, seen } = guarding()
    const backend = yield* origin(answer)
    const lines: Array<string> = []
    const text = `
gateways: { default: { port: 8080 } }
routes:
- policies: { guard: ${settings}, responseHeaderModifier: { set: { x-response: ran } } ${more} }
  backends: [{ host: "${backend.address}" }]
`
    const gateway = yield* headgate.start(text, {
      ephemeral: true,
      host: "127.0.0.1",
      log: (line) => lines.push(line)
    })
    const decide = (verdict: Exit.Exit<Verdict, Against>, index = asked.length - 1) =>
      Deferred.done(asked[index]!, verdict)
    const begun = (count = 1) => Effect.promise(() => eventually(() => asked.length === count))
    return { gateway, port: gateway.port(8080)!, backend, asked, seen, lines, decide, begun }
  })

/** Whether something has come of a promise by now. */
const settled = async (promise: Promise<unknown>): Promise<boolean> => {
  const none = {}
  await new Promise((resolve) => setTimeout(resolve, 50))
  return (await Promise.race([promise, Promise.resolve(none)])) !== none
}

const traced = (found: ReadonlyArray<TraceEvent>) =>
  found.flatMap(({ message }) =>
    message.type === "backendCallResult"
      ? [`called ${message.status} ${message.error}`]
      : message.type === "policy" && message.phase === "call"
        ? [`${message.node} ${message.result.type === "apply" ? message.result.details : "skipped"}`]
        : message.type === "requestFinished"
          ? [`finished ${message.status}`]
          : []
  )

describe("a node beside the call", () => {
  it.live(
    "that answers ends a call which is pending: the client is told what it says, and the backend hears the end",
    () =>
      Effect.gen(function* () {
        let left = 0
        const { gateway, port, backend, begun, decide } = yield* withGuard("{}", { silent: true })
        backend.server.on("connection", (socket) => socket.on("close", () => left++))
        const stream = yield* watch(gateway)
        const sent = send(port)
        yield* begun()
        yield* Effect.promise(() => eventually(() => backend.received.length === 1))
        yield* decide(respond(refusal()))
        const { status, headers, body } = yield* Effect.promise(() => sent)
        assert.deepStrictEqual([status, body], [403, "stopped"])
        assert.deepStrictEqual([headers["x-by"], headers["x-response"]], ["guard", "ran"])
        yield* Effect.promise(() => eventually(() => left === 1))
        const events = yield* Stream.runCollect(stream)
        assert.deepStrictEqual(traceProblems(events), [])
        assert.deepStrictEqual(traced(events), ["guard responded", "called null stopped by a stage", "finished 403"])
      })
  )

  it.live("that fails ends it, too, unless its failures are forgiven", () =>
    Effect.gen(function* () {
      const closed = yield* withGuard("{}", { silent: true })
      const refused = send(closed.port)
      yield* closed.begun()
      yield* closed.decide(Exit.fail(new Against()))
      const { status, body } = yield* Effect.promise(() => refused)
      assert.deepStrictEqual([status, body], [451, "there is something against it"])

      const open = yield* withGuard("{ open: true }", { body: "fine" })
      const passed = send(open.port)
      yield* open.begun()
      yield* open.decide(Exit.fail(new Against()))
      assert.deepStrictEqual((yield* Effect.promise(() => passed)).body, "fine")
    })
  )

  it.live("keeps the answer waiting until it has decided, and drops it where it is against it", () =>
    Effect.gen(function* () {
      const { port, backend, begun, decide, seen } = yield* withGuard("{}", { body: "fine" })
      const first = send(port)
      yield* begun()
      yield* Effect.promise(() => eventually(() => backend.received.length === 1))
      assert.isFalse(yield* Effect.promise(() => settled(first)))
      yield* decide(next)
      assert.strictEqual((yield* Effect.promise(() => first)).body, "fine")

      const second = send(port)
      yield* begun(2)
      yield* Effect.promise(() => eventually(() => backend.received.length === 2))
      assert.isFalse(yield* Effect.promise(() => settled(second)))
      yield* decide(respond(refusal()))
      assert.deepStrictEqual((yield* Effect.promise(() => second)).body, "stopped")
      // What was dropped was read to its end: the connection is good for more.
      const third = send(port)
      yield* begun(3)
      yield* decide(next)
      assert.strictEqual((yield* Effect.promise(() => third)).body, "fine")
      assert.deepStrictEqual([backend.connections(), seen.calledOff], [1, 0])
    })
  )

  it.live("cuts an answer off that has begun to leave, where it does not wait", () =>
    Effect.gen(function* () {
      const backend = yield* beginning("begun ")
      const { headgate, asked } = guarding()
      const lines: Array<string> = []
      const gateway = yield* headgate.start(
        `
gateways: { default: { port: 8080 } }
routes:
- policies: { guard: { keeps: false }, timeout: { requestTimeout: 1s } }
  backends: [{ host: "${backend.address}" }]
`,
        { ephemeral: true, host: "127.0.0.1", log: (line) => lines.push(line) }
      )
      const client = new RawClient(gateway.port(8080)!)
      client.send("GET / HTTP/1.1\r\nhost: a\r\n\r\n")
      yield* Effect.promise(() => client.until(({ text }) => text.includes("begun ")))
      // The time of the request bounds the way to its answer, and neither the answer nor who looks at it.
      yield* Effect.sleep(1100)
      assert.isFalse(client.closed || backend.isLeft())
      yield* Deferred.done(asked[0]!, Exit.fail(new Against()))
      yield* Effect.promise(() => client.until(() => client.closed || client.ended))
      assert.notMatch(client.text, /\r\n0\r\n\r\n$/)
      yield* Effect.promise(() => eventually(backend.isLeft))
      yield* Effect.promise(() => eventually(() => lines.some((line) => line.includes("stopped by guard"))))
    })
  )

  it.live("that does not wait and says nothing is called off with the end of the answer", () =>
    Effect.gen(function* () {
      const { port, seen, backend } = yield* withGuard("{ keeps: false }", { body: "fine" })
      assert.strictEqual((yield* Effect.promise(() => send(port))).body, "fine")
      yield* Effect.promise(() => eventually(() => seen.calledOff === 1))
      assert.strictEqual(backend.received.length, 1)
    })
  )

  it.live("is called off when the client goes away, and ends with the time of the request", () =>
    Effect.gen(function* () {
      const { port, seen, begun } = yield* withGuard("{}", { body: "fine" })
      const client = new RawClient(port)
      client.send("GET / HTTP/1.1\r\nhost: a\r\n\r\n")
      yield* begun()
      client.socket.destroy()
      yield* Effect.promise(() => eventually(() => seen.calledOff === 1))

      const late = yield* withGuard("{}", { body: "fine" }, ", timeout: { requestTimeout: 100ms }")
      const { status } = yield* Effect.promise(() => send(late.port))
      assert.deepStrictEqual([status, late.seen.calledOff], [504, 1])
    })
  )

  it.live("is called off when the backend cannot be reached", () =>
    Effect.gen(function* () {
      const { port, seen } = yield* withGuard("{}", { closes: true })
      const { status } = yield* Effect.promise(() => send(port))
      assert.deepStrictEqual([status, seen.calledOff], [503, 1])
    })
  )

  it.live("ends a connection that speaks another protocol by now", () =>
    Effect.gen(function* () {
      const { headgate, asked } = guarding()
      const server = yield* httpBackend(() => {})
      let left = false
      server.on("upgrade", (_, socket) => {
        socket.write("HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: x\r\n\r\n")
        socket.on("error", () => {})
        socket.on("end", () => {
          left = true
          socket.end()
        })
        socket.on("data", (chunk) => socket.write(chunk))
      })
      const gateway = yield* headgate.start(
        `
gateways: { default: { port: 8080 } }
routes: [{ policies: { guard: { keeps: false } }, backends: [{ host: "127.0.0.1:${portOf(server.address())}" }] }]
`,
        { ephemeral: true, host: "127.0.0.1" }
      )
      yield* Effect.promise(async () => {
        const sent = httpRequest({
          host: "127.0.0.1",
          port: gateway.port(8080)!,
          headers: { connection: "upgrade", upgrade: "x" }
        })
        let echoed = ""
        let closed = false
        sent.on("upgrade", (_, socket) => {
          socket.on("error", () => {})
          socket.on("data", (chunk) => {
            echoed += String(chunk)
          })
          socket.on("close", () => {
            closed = true
          })
          socket.write("ping")
        })
        sent.on("error", () => {})
        sent.end()
        await eventually(() => echoed === "ping")
        await Effect.runPromise(Deferred.done(asked[0]!, Exit.fail(new Against())))
        await eventually(() => closed && left)
      })
    })
  )
})

/** Adds to a number of the request, and says on the way out what came of it. */
const counted = state<number>()("counted")
const counter = policy({
  name: "counter",
  traceKey: "counter",
  schema: object("Counter", "Tells a request its number here.", {
    from: required(Schema.Finite, "What is added.")
  }),
  sites: ["gateway", "route", "backend"],
  responds: ["response"],
  reads: slotsOf(counted),
  writes: slotsOf(counted),
  outcomes: ["next"],
  maturity: { status: "alpha", untrusted: "none" },
  compile: ({ from }, { site }) => {
    const own = counted[site]
    return Effect.succeed([
      {
        name: "counter",
        phase: "request",
        writes: [own],
        reads: [],
        run: (x) => {
          x.set(own, from + Number(x.request.query.slice(1)))
          return next
        }
      },
      {
        name: "counter.told",
        phase: "response",
        reads: [own],
        writes: [],
        run: (x) => {
          const number = x.get(own)
          if (number !== undefined) x.response?.headers.add("x-number", `${site} ${number}`)
          return next
        }
      }
    ])
  }
})

describe("what a policy keeps over its phases", () => {
  it.live("is its own at each place of a request, and of each request", () =>
    Effect.gen(function* () {
      const backend = yield* origin({ body: "ok" })
      const headgate = makeHeadgate({
        registry: registry([...policies.policies, counter], {
          ...policies.orders,
          gateway: [...policies.orders.gateway, "counter"],
          route: inserted(policies.orders.route, "cors", "counter"),
          backend: [...policies.orders.backend, "counter"],
          response: [...policies.orders.response, "gateway counter", "route counter", "backend counter"]
        })
      })
      const gateway = yield* headgate.start(
        `
binds:
- port: 8080
  listeners:
  - policies: { counter: { from: 0 } }
    routes:
    - policies: { counter: { from: 10 } }
      backends: [{ host: "${backend.address}", policies: { counter: { from: 100 } } }]
`,
        { ephemeral: true, host: "127.0.0.1" }
      )
      const numbers = (own: number) =>
        send(gateway.port(8080)!, { path: `/?${own}` }).then(({ headers }) => headers["x-number"])
      yield* Effect.promise(async () => {
        assert.deepStrictEqual(await Promise.all([1, 2].map(numbers)), [
          ["gateway 1", "route 11", "backend 101"],
          ["gateway 2", "route 12", "backend 102"]
        ])
      })
    })
  )

  for (const { name, check } of policyLaws(counter, { runs: 20 })) it.effect(`has its laws: ${name}`, () => check)
})

/** Stops an answer in which a word comes: what its node over the body sees is known to the one beside the call. */
const found = state<Deferred.Deferred<true>>()("found")
const wordGuard = policy({
  name: "wordGuard",
  traceKey: "wordGuard",
  schema: object("WordGuard", "Stops an answer that says a word.", {
    word: required(Schema.NonEmptyString, "The word."),
    kind: required(Schema.Literals(["answers", "fails"]), "How it stops one."),
    waits: optional(Schema.Boolean, "Whether it takes a turn of its own."),
    early: optional(Schema.Boolean, "Whether a word of the request does.")
  }),
  sites: ["route", "backend"],
  responds: ["call", "backendResponse"],
  reads: slotsOf(found),
  writes: slotsOf(found),
  outcomes: ["next", "respond", "fail"],
  maturity: { status: "alpha", untrusted: "client+backend" },
  compile: ({ word, kind, waits = false, early = false }, { site }) => {
    const own = found[site]
    const stop = Effect.suspend(
      (): Exit.Exit<Verdict, Against> => (kind === "answers" ? respond(refusal()) : Exit.fail(new Against()))
    )
    return Effect.succeed([
      {
        name: "wordGuard",
        phase: "request",
        outcomes: ["next"],
        run: (x) => {
          x.set(own, Deferred.makeUnsafe())
          return next
        }
      },
      {
        name: "wordGuard.request",
        phase: "call",
        run: (x) => {
          if (!early || !x.request.path.includes(word)) return next
          return waits ? Effect.andThen(Effect.yieldNow, stop) : stop
        }
      },
      {
        name: "wordGuard.answer",
        phase: "call",
        answerWaits: false,
        run: (x) => Effect.andThen(Deferred.await(x.get(own)!), stop)
      },
      {
        name: "wordGuard.seen",
        phase: "backendResponse",
        outcomes: ["next"],
        run: (x) => {
          const known = x.get(own)!
          x.observeResponseBody({
            data: (chunk) => {
              if (Buffer.from(chunk).includes(word)) Deferred.doneUnsafe(known, Exit.succeed(true))
            },
            end: () => {}
          })
          return next
        }
      }
    ])
  }
})

describe("a policy that does both", () => {
  it.live("stops a stream at the word that it saw in it", () =>
    Effect.gen(function* () {
      const backend = yield* beginning("good ")
      const headgate = makeHeadgate({
        registry: registry([...policies.policies, wordGuard], {
          ...policies.orders,
          route: inserted(policies.orders.route, "cors", "wordGuard"),
          backend: [...policies.orders.backend, "wordGuard"],
          call: ["route wordGuard", "backend wordGuard"],
          backendResponse: ["route wordGuard", "backend wordGuard"]
        })
      })
      const gateway = yield* headgate.start(
        `
gateways: { default: { port: 8080 } }
routes:
- policies: { wordGuard: { word: never, kind: answers } }
  backends: [{ host: "${backend.address}", policies: { wordGuard: { word: bad, kind: fails } } }]
`,
        { ephemeral: true, host: "127.0.0.1" }
      )
      const client = new RawClient(gateway.port(8080)!)
      client.send("GET / HTTP/1.1\r\nhost: a\r\n\r\n")
      yield* Effect.promise(() => client.until(({ text }) => text.includes("good ")))
      backend.goesOn("bad ")
      yield* Effect.promise(() => client.until(() => client.closed || client.ended))
      assert.notMatch(client.text, /\r\n0\r\n\r\n$/)
      yield* Effect.promise(() => eventually(backend.isLeft))
    })
  )

  const config = (kind: string, waits: boolean) => ({ word: "a", kind, waits, early: true })
  const examples = ["answers", "fails"].flatMap((kind) =>
    [true, false].map((waits) => ({ config: config(kind, waits) }))
  )
  for (const { name, check } of policyLaws(wordGuard, { runs: 30, examples }))
    it.effect(`has its laws: ${name}`, () => check)
})
