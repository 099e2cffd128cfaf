/** A proxy with a policy that burns processor time, for `bench/overload.ts`. Says its port, and ends with its parent. */
import { Effect, Schema } from "effect"
import { makeHeadgate } from "../src/main/library.ts"
import { after, next, object, policies, policy, registry, required } from "../src/main/policy.ts"

const burn = policy({
  name: "burn",
  traceKey: "burn",
  schema: object("Burn", "Burns processor time.", { milliseconds: required(Schema.Number, "How much.") }),
  sites: ["route"],
  responds: [],
  reads: [],
  writes: [],
  outcomes: ["next"],
  maturity: { status: "alpha", untrusted: "none" },
  compile: ({ milliseconds }) =>
    Effect.succeed([
      {
        name: "burn",
        phase: "request",
        run: () => {
          // Its own time, not that of the wall: others may have the core meanwhile.
          const before = process.threadCpuUsage()
          let spent = 0
          while (spent < milliseconds * 1000) {
            const { user, system } = process.threadCpuUsage(before)
            spent = user + system
          }
          return next
        }
      }
    ])
})

const headgate = makeHeadgate({
  registry: registry([...policies.policies, burn], {
    ...policies.orders,
    route: after(policies.orders.route, "cors", "burn")
  })
})

const backend = process.argv[2]
const rest =
  backend === undefined ? `directResponse: { status: 200, body: done } }` : `}, backends: [{ host: ${backend} }]`

await Effect.runPromise(
  Effect.scoped(
    Effect.gen(function* () {
      const gateway = yield* headgate.start(
        `
gateways: { default: { port: 8080 } }
routes: [{ policies: { burn: { milliseconds: 2 }${backend === undefined ? "," : ""} ${rest} }]
`,
        { ephemeral: true, host: "127.0.0.1", log: (line) => process.stderr.write(line) }
      )
      process.send?.({ port: gateway.port(8080) })
      yield* Effect.callback<void>((resume) => {
        process.once("disconnect", () => resume(Effect.void))
      })
    })
  )
)
process.exit(0)
