/** A policy of somebody else that decides about connections, and takes its time. */
import { assert, describe, it } from "@effect/vitest"
import { Data, Deferred, Effect, Schema } from "effect"
import { makeHeadgate } from "../src/main/library.ts"
import { next, object, optional, policies, policy, registry, type StageError } from "../src/main/policy.ts"
import { policyLaws } from "../src/main/testing.ts"
import { eventually, RawClient } from "./http/raw-client.ts"

class Unwelcome extends Data.TaggedError("Unwelcome") implements StageError {
  readonly status = 403
  readonly source = "client"
  override readonly message = "not today"
}

/** A doorman whose verdicts come when the test gives them. */
const doorkeeping = () => {
  const asked: Array<Deferred.Deferred<undefined, Unwelcome>> = []
  let calledOff = 0
  const doorman = policy({
    name: "doorman",
    traceKey: "doorman",
    schema: object("Doorman", "Decides who may connect.", {
      open: optional(Schema.Boolean, "Whether its failures are forgiven.")
    }),
    sites: ["connection"],
    responds: [],
    reads: [],
    writes: [],
    outcomes: ["next", "fail"],
    failOpen: ({ open }) => open === true,
    maturity: { status: "alpha", untrusted: "client" },
    compile: () =>
      Effect.succeed([
        {
          name: "doorman",
          phase: "request",
          run: () =>
            Effect.suspend(() => {
              const verdict = Deferred.makeUnsafe<undefined, Unwelcome>()
              asked.push(verdict)
              return Effect.onInterrupt(Deferred.await(verdict), () => Effect.sync(() => void calledOff++))
            })
        }
      ])
  })
  const headgate = makeHeadgate({
    registry: registry([...policies.policies, doorman], {
      ...policies.orders,
      connection: [...policies.orders.connection, "doorman"]
    })
  })
  return { headgate, asked, calledOff: () => calledOff }
}

const configuration = (open: boolean, body = "hello") => `
frontendPolicies: { doorman: { open: ${open} } }
gateways: { default: { port: 8080 } }
routes: [{ policies: { directResponse: { status: 200, body: ${body} } } }]
`
const ask = "GET / HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n"

const opened = (open: boolean) =>
  Effect.gen(function* () {
    const { headgate, asked, calledOff } = doorkeeping()
    const gateway = yield* headgate.start(configuration(open), { ephemeral: true, host: "127.0.0.1" })
    const knock = Effect.promise(async () => {
      const before = asked.length
      const client = new RawClient(gateway.port(8080)!).send(ask)
      await eventually(() => asked.length === before + 1)
      return { client, verdict: asked.at(-1)! }
    })
    return { gateway, knock, calledOff }
  })

describe("a policy of connections that takes its time", () => {
  it.live("holds up the connection alone that it decides about", () =>
    Effect.gen(function* () {
      const { knock } = yield* opened(false)
      const one = yield* knock
      const other = yield* knock
      yield* Deferred.succeed(other.verdict, undefined)
      assert.match(yield* Effect.promise(() => other.client.toEnd()), /^HTTP\/1\.1 200 OK[\s\S]*hello$/)
      assert.strictEqual(one.client.text, "")
      yield* Deferred.fail(one.verdict, new Unwelcome())
      assert.strictEqual(yield* Effect.promise(() => one.client.toEnd()), "")
    })
  )

  it.live("fails open where it says so, and never on a bug", () =>
    Effect.gen(function* () {
      const { knock } = yield* opened(true)
      const forgiven = yield* knock
      yield* Deferred.fail(forgiven.verdict, new Unwelcome())
      assert.match(yield* Effect.promise(() => forgiven.client.toEnd()), /^HTTP\/1\.1 200 OK/)
      const broken = yield* knock
      yield* Deferred.die(broken.verdict, new Error("a bug of the doorman"))
      assert.strictEqual(yield* Effect.promise(() => broken.client.toEnd()), "")
    })
  )

  it.live("decides by the configuration that it began with; requests run on the newest one", () =>
    Effect.gen(function* () {
      const { gateway, knock, calledOff } = yield* opened(false)
      const { client, verdict } = yield* knock
      yield* gateway.reload(configuration(false, "newer"))
      assert.strictEqual(calledOff(), 0)
      yield* Deferred.succeed(verdict, undefined)
      assert.match(yield* Effect.promise(() => client.toEnd()), /newer$/)
    })
  )

  it.live("is refused anywhere but where connections have their policies", () =>
    Effect.gen(function* () {
      const { headgate } = doorkeeping()
      const failed = yield* Effect.flip(
        headgate.start(
          "gateways: { default: { port: 8080 } }\nroutes: [{ policies: { doorman: {}, directResponse: { status: 200 } } }]",
          { ephemeral: true, host: "127.0.0.1" }
        )
      )
      assert.include(String(failed.message), "routes[0].policies.doorman")
    })
  )
})

describe("the laws, of a policy of connections", () => {
  const known = policy({
    name: "onlyKnown",
    traceKey: "onlyKnown",
    schema: object("OnlyKnown", "Lets one address connect.", { address: optional(Schema.String, "The address.") }),
    sites: ["connection"],
    responds: [],
    reads: [],
    writes: [],
    outcomes: ["next", "fail"],
    maturity: { status: "alpha", untrusted: "client" },
    compile: ({ address = "192.0.2.1" }) =>
      Effect.succeed([
        {
          name: "onlyKnown",
          phase: "request",
          run: ({ peer }) => (peer.address === address ? next : Effect.fail(new Unwelcome()))
        }
      ])
  })
  for (const { name, check } of policyLaws(known, { words: { address: ["192.0.2.1", "198.51.100.7"] }, runs: 20 }))
    it.effect(name, () => check)

  policy({
    ...known,
    compile: () =>
      // @ts-expect-error there is no request whose path could be read
      Effect.succeed([
        {
          name: "onlyKnown",
          phase: "request",
          run: ({ request }) => (request.path === "/" ? next : Effect.fail(new Unwelcome()))
        }
      ])
  })

  policy({
    ...known,
    compile: () =>
      // @ts-expect-error nobody has asked anything that could be answered
      Effect.succeed([
        {
          name: "onlyKnown",
          phase: "request",
          run: () => Effect.succeed({ status: 200, headers: new Headers(), body: undefined })
        }
      ])
  })
})
