/** Graphs of terminals: what one node leaves the next one takes, and no other graph compiles. */
import { assert, describe, it } from "@effect/vitest"
import { Effect, Exit } from "effect"
import { HeaderList } from "../http/header-list.ts"
import { type Answer, RequestHead } from "../http/message.ts"
import { Exchange } from "./exchange.ts"
import { Passage } from "./passage.ts"
import type { Backend } from "./route.ts"
import { plainLoop } from "./run.ts"
import { makeReach, noHooks } from "./serve.ts"
import { next, type OutcomeKind, type StageError, slot } from "./stage.ts"
import { type Afterwards, instead, TerminalGraph } from "./terminal-graph.ts"
import { terminalSteps } from "./terminal-steps.ts"

const cell = slot<object>()("testCall", "attempt")
type Slots = typeof cell

interface Named {
  readonly name: string
}
interface Sized extends Named {
  readonly size: number
}

const outcomes: ReadonlyArray<OutcomeKind> = ["next", "respond", "fail"]
const refused: StageError = { _tag: "Refused", status: 400, message: "no", source: "client" }
const said = (status: number): Answer => ({ status, headers: new HeaderList(), body: undefined })

const begun = TerminalGraph.over<Slots>(cell).node({
  name: "named",
  outcomes,
  run: (): Exit.Exit<Named> => Exit.succeed({ name: "a" })
})
const sized = {
  name: "sized",
  outcomes,
  run: (_: unknown, named: Named) => Effect.delay(Effect.succeed<Sized>({ ...named, size: named.name.length }), 1)
}

const passing = () => {
  const head = new RequestHead("GET", "http", "a", "/", new HeaderList())
  const x = new Exchange(head, undefined, { address: "", port: 0, rawAddress: "", rawPort: 0 }, 0, 0)
  return { x, passage: new Passage(x) }
}

describe("the graph of a terminal", () => {
  it.live("hands over what each node leaves, at once or later, before the call and after it", () =>
    Effect.gen(function* () {
      const { nodes, call } = begun
        .node(sized)
        .calling([], (_, { size }) => Exit.succeed(said(200 + size)))
        .node({
          name: "told",
          outcomes,
          run: (_, { name, size }) => Exit.succeed({ text: name.repeat(size + 1) })
        }).laid
      assert.deepStrictEqual(
        nodes.map(({ name, phase, reads, writes }) => [name, phase, reads?.length, writes?.length]),
        [
          ["named", "request", 0, 1],
          ["sized", "request", 1, 0],
          ["told", "backendResponse", 1, 0]
        ]
      )
      const { x, passage } = passing()
      assert.strictEqual(nodes[0]!.run(x, passage), next)
      assert.isUndefined(yield* nodes[1]!.run(x, passage))
      assert.strictEqual((yield* call(x, passage)).status, 201)
      assert.strictEqual(nodes[2]!.run(x, passage), next)
      assert.deepStrictEqual(x.get(cell), { text: "aa" })
    })
  )

  it.effect("a node may answer or fail; then nothing is left", () =>
    Effect.gen(function* () {
      const { nodes } = begun.node({ name: "answers", outcomes, run: () => instead(said(204)) }).laid
      const failing = begun.node({ name: "fails", outcomes, run: () => Exit.fail(refused) }).laid.nodes
      const { x, passage } = passing()
      yield* nodes[0]!.run(x, passage)
      assert.strictEqual((yield* nodes[1]!.run(x, passage))?.status, 204)
      assert.strictEqual(yield* Effect.flip(failing[1]!.run(x, passage)), refused)
      assert.deepStrictEqual(x.get(cell), { name: "a" })
    })
  )

  it("one that may be passed over has its condition on what was left", () => {
    const when = { text: "it is long", holds: (_: unknown, { name }: Named) => name.length > 1 }
    const run = (_: unknown, { name }: Named) => Exit.succeed({ name: `${name}!` })
    const { nodes } = begun.perhaps([{ name: "shouted", outcomes, when, run }]).laid
    const { x, passage } = passing()
    nodes[0]!.run(x, passage)
    assert.deepStrictEqual([nodes[1]!.when?.text, nodes[1]!.when?.holds(x)], ["it is long", false])
    x.set(cell, { name: "aa" })
    assert.isTrue(nodes[1]!.when?.holds(x))
  })

  it.effect("nodes that run once more, afterwards, run on what they are given then", () =>
    Effect.gen(function* () {
      const seen: Array<string> = []
      let again: Afterwards<Slots, Named> | undefined
      const looking = {
        name: "looking",
        outcomes,
        when: { text: "it is short", holds: (_: unknown, { name }: Named) => name.length < 3 },
        run: (_: unknown, named: Named) => {
          seen.push(named.name)
          return named.name === "b" ? Exit.fail(refused) : Exit.succeed(named)
        }
      }
      const { nodes, call } = begun
        .calling([], () => Exit.succeed(said(200)))
        .afterwards([looking], (afterwards) => {
          again = afterwards
          return {
            name: "last",
            outcomes,
            when: { text: "", holds: () => true },
            run: (_, named) => Exit.succeed(named)
          }
        }).laid
      assert.deepStrictEqual(
        nodes.map(({ name, afterwards }) => [name, afterwards === true]),
        [
          ["named", false],
          ["looking", true],
          ["last", false]
        ]
      )
      const { request, backendResponse, afterwards } = terminalSteps("test", [], nodes, [], () => ({
        record: () => {}
      }))
      assert.deepStrictEqual(afterwards, backendResponse.slice(0, 1))
      const { x, passage } = passing()
      const backend: Backend = {
        name: "b",
        type: "unknown",
        protocol: "http",
        target: "b:1",
        steps: request,
        backendResponse,
        afterwards,
        response: [],
        effective: () => ({}),
        call
      }
      const defects: Array<unknown> = []
      const reach = makeReach(
        plainLoop(() => 0),
        noHooks,
        () => 0,
        (defect) => defects.push(defect)
      )
      assert.strictEqual((yield* reach(passage, backend)).status, 200)
      const before = passage.stoppedAt
      assert.isUndefined(yield* again!(x, { name: "c" }, passage))
      assert.isUndefined(yield* again!(x, { name: "long" }, passage))
      assert.isUndefined(x.error)
      assert.strictEqual(yield* again!(x, { name: "b" }, passage), refused)
      assert.strictEqual(x.error, refused)
      assert.deepStrictEqual(seen, ["a", "c", "b"])
      assert.strictEqual(passage.stoppedAt, before)
      assert.deepStrictEqual(defects, [])
    })
  )

  it.effect("without a node that runs afterwards there is nothing that could let anything pass", () =>
    Effect.gen(function* () {
      assert.isTrue(Exit.isFailure(yield* Effect.exit(passing().passage.afterwards)))
    })
  )

  it("what nobody has left is a type error", () => {
    // @ts-expect-error: the first node leaves no size.
    begun.node({ name: "early", outcomes, run: (_: unknown, { size }: Sized) => Exit.succeed({ size }) })
    // @ts-expect-error: a node that may be passed over leaves what it took.
    begun.perhaps([{ ...sized, when: { text: "", holds: () => true }, run: () => Exit.succeed({ size: 1 }) }])
    // @ts-expect-error: without its call it is no backend.
    assert.isUndefined(begun.laid.call)
  })
})
