/** A proxy in the test's own process whose one route has a plan: attempts of the real engine over real sockets. */
import { assert } from "@effect/vitest"
import { Effect } from "effect"
import { HeldBytes } from "../../src/http/held-bytes.ts"
import type { Plan } from "../../src/pipeline/attempts.ts"
import { Passage } from "../../src/pipeline/passage.ts"
import type { Backend, Listener, Route } from "../../src/pipeline/route.ts"
import { plainLoop } from "../../src/pipeline/run.ts"
import { makeServe, noHooks } from "../../src/pipeline/serve.ts"
import { callUpstream } from "../../src/pipeline/upstream-call.ts"
import type { Upstream } from "../../src/services/upstreams.ts"
import { edge } from "./edge.ts"

/** Three attempts, for whatever a backend may be to blame for. */
export const thrice: Plan = {
  attempts: 3,
  again: ({ error, exchange }) => (error?.source === "backend" || exchange.response?.status === 503 ? 0 : undefined)
}

/** @param upstreams which one each attempt goes to, from the first one on; the last of them serves those that follow. */
export const planned = (upstreams: readonly [Upstream, ...Array<Upstream>], plan: Plan, heldBytes = new HeldBytes()) =>
  Effect.gen(function* () {
    const effective = () => ({})
    const numbers = new WeakMap<object, number>()
    const numbered: Plan = {
      ...plan,
      begins: (x, number) => {
        numbers.set(x, number)
        plan.begins?.(x, number)
      }
    }
    const end: Backend = {
      name: "backend",
      type: "static",
      protocol: "http",
      target: "backend",
      steps: [],
      backendResponse: [],
      response: [],
      effective,
      keepsTime: true,
      call: (x, passage) => {
        x.request.headers.set("x-attempt", String((Number(x.request.headers.get("x-attempt")) || 0) + 1))
        return callUpstream(x, passage, upstreams[numbers.get(x)! - 1] ?? upstreams.at(-1)!)
      }
    }
    const route: Route = {
      key: "route",
      name: "route",
      namespace: "default",
      rule: undefined,
      steps: [],
      response: [],
      effective,
      plan: numbered,
      choose: () => end
    }
    const listener: Listener = {
      key: "listener",
      name: "listener",
      bind: "bind",
      gateway: "default/default",
      steps: [],
      response: [],
      effective,
      select: () => ({ route, prefix: undefined, evaluated: () => [] })
    }
    const clock = () => performance.now()
    const serve = makeServe(plainLoop(clock), noHooks, clock, ({ cause }) => assert.fail(String(cause)))
    const { port, defects } = yield* edge((x) => {
      x.settings = { ...x.settings, heldBytes }
      return serve(new Passage(x), listener)
    })
    return { port, defects, heldBytes }
  })
