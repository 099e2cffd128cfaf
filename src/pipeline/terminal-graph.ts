/**
 * A terminal that speaks a protocol is a graph of nodes over one slot: each node takes what the one before it left there, and leaves what
 * the next one takes. A node that takes what none before it has left is a type error.
 */
import { Effect, Exit } from "effect"
import type { Answer } from "../http/message.ts"
import type { Passage } from "./passage.ts"
import { type AnySlot, next, type Slot, type SlotValue, type StageError, type Verdict } from "./stage.ts"
import type { Call, CompiledBackend, TerminalNode } from "./terminal.ts"

/** The words of a node that ends the way to the backend, or replaces its answer. */
export class Instead {
  readonly answer: Answer
  constructor(answer: Answer) {
    this.answer = answer
  }
}

export const instead = (answer: Answer): Exit.Exit<Instead> => Exit.succeed(new Instead(answer))

/** What comes of the work of a node: what it leaves, or an answer of its own. A ready `Exit` needs no fiber. */
export type Left<Out> = Effect.Effect<Out | Instead, StageError>

/** A node that takes `Taken` and leaves `Out`. */
export interface GraphNode<Slots extends AnySlot, Taken, Out>
  extends Pick<TerminalNode<Slots>, "name" | "outcomes" | "reads" | "failOpen" | "path"> {
  readonly run: (exchange: Call<Slots>, taken: Taken, passage: Passage) => Left<Out>
}

/** A node that may be passed over, and so leaves what it took. */
export interface OptionalNode<Slots extends AnySlot, Taken> extends GraphNode<Slots, Taken, Taken> {
  readonly when: { readonly text: string; readonly holds: (exchange: Call<Slots>, taken: Taken) => boolean }
}

type Calling<Slots extends AnySlot> = Required<Pick<CompiledBackend<Slots>, "reads" | "call">>

/**
 * Has nodes run once more, when the phases are over, on something else than what was left then. Ends with why it must not pass, if it
 * must not. One run at a time.
 */
export type Afterwards<Slots extends AnySlot, Taken> = (
  exchange: Call<Slots>,
  taken: Taken,
  passage: Passage
) => Effect.Effect<StageError | undefined>

/** A graph in its making, as far as the node that leaves `Taken`; with `Called` it has its call. */
export class TerminalGraph<Slots extends AnySlot, Taken, Called extends Partial<Calling<Slots>> = object> {
  readonly #slot: Slots
  readonly #nodes: ReadonlyArray<TerminalNode<Slots>>
  readonly #called: Called

  private constructor(slot: Slots, nodes: ReadonlyArray<TerminalNode<Slots>>, called: Called) {
    this.#slot = slot
    this.#nodes = nodes
    this.#called = called
  }

  /** @param slot one of the terminal's own, which holds whatever its nodes leave. */
  static over<Slots extends AnySlot>(slot: Slots & Slot<string, object>): TerminalGraph<Slots, undefined> {
    return new TerminalGraph<Slots, undefined>(slot, [], {})
  }

  node<Out extends object>(node: GraphNode<Slots, Taken, Out>): TerminalGraph<Slots, Out, Called> {
    return new TerminalGraph<Slots, Out, Called>(this.#slot, [...this.#nodes, this.#laid(node)], this.#called)
  }

  /** Nodes that may be passed over, as many as the configuration has. */
  perhaps(nodes: ReadonlyArray<OptionalNode<Slots, Taken & object>>): TerminalGraph<Slots, Taken & object, Called> {
    return this.#with(nodes.map((node) => this.#optional(node)))
  }

  /** Nodes that may be passed over, and behind them one, if there is one, that has them run once more, as often as it likes. */
  afterwards(
    nodes: ReadonlyArray<OptionalNode<Slots, Taken & object>>,
    last: ((afterwards: Afterwards<Slots, Taken & object>) => OptionalNode<Slots, Taken & object>) | undefined
  ): TerminalGraph<Slots, Taken & object, Called> {
    if (last === undefined) return this.perhaps(nodes)
    const run: Afterwards<Slots, Taken & object> = (x, taken, passage) =>
      Effect.suspend(() => {
        x.set(this.#slot, taken as SlotValue<Slots>)
        return passage.afterwards
      })
    const again = nodes.map((node) => ({ ...this.#optional(node), afterwards: true }))
    return this.#with([...again, this.#optional(last(run))])
  }

  #with(nodes: ReadonlyArray<TerminalNode<Slots>>): TerminalGraph<Slots, Taken & object, Called> {
    return new TerminalGraph<Slots, Taken & object, Called>(this.#slot, [...this.#nodes, ...nodes], this.#called)
  }

  #optional({ when, ...node }: OptionalNode<Slots, Taken & object>): TerminalNode<Slots> {
    const holds: NonNullable<TerminalNode<Slots>["when"]>["holds"] = (x) => when.holds(x, this.#taken(x))
    return { ...this.#laid(node), when: { text: when.text, holds } }
  }

  /** The call takes what the last node before it left, and so does the first one on its answer. */
  calling(
    reads: ReadonlyArray<Slots>,
    call: (exchange: Call<Slots>, taken: Taken, passage: Passage) => Effect.Effect<Answer, StageError>
  ): TerminalGraph<Slots, Taken, Calling<Slots>> {
    return new TerminalGraph<Slots, Taken, Calling<Slots>>(this.#slot, this.#nodes, {
      reads: [...reads, this.#slot],
      call: (x, passage) => call(x, this.#taken(x), passage)
    })
  }

  get laid(): Called & { readonly nodes: ReadonlyArray<TerminalNode<Slots>> } {
    return { ...this.#called, nodes: this.#nodes }
  }

  /** What was left before: the types of the graph hold that it is what is taken. */
  #taken<T = Taken>(x: Call<Slots>): T {
    return x.get(this.#slot) as T
  }

  #laid<T, Out extends object>({ run, ...node }: GraphNode<Slots, T, Out>): TerminalNode<Slots> {
    const first = this.#nodes.length === 0
    const leave = (x: Call<Slots>, left: Out | Instead): Verdict => {
      if (left instanceof Instead) return left.answer
      // The slot holds any object.
      x.set(this.#slot, left as SlotValue<Slots>)
      return undefined
    }
    return {
      ...node,
      phase: this.#called.call === undefined ? "request" : "backendResponse",
      reads: [...(node.reads ?? []), ...(first ? [] : [this.#slot])],
      writes: first ? [this.#slot] : [],
      run: (x, passage): Effect.Effect<Verdict, StageError> => {
        const left = run(x, this.#taken<T>(x), passage)
        if (!Exit.isExit(left)) return Effect.map(left, (out) => leave(x, out))
        const exit = left as Exit.Exit<Out | Instead, StageError>
        if (Exit.isFailure(exit)) return Exit.failCause(exit.cause)
        const answer = leave(x, exit.value)
        return answer === undefined ? next : Exit.succeed(answer)
      }
    }
  }
}
