/**
 * The list of all policies, the order in which they run in each phase, and everything that follows from both by type
 * alone: the `policies` object of a configuration, the services that compiling needs, and that no policy reads a slot
 * which nothing before it writes.
 */
import { type Effect, Schema, type Scope } from "effect"
import type { Site } from "./site.ts"
import type { lateSlots } from "./slots.ts"
import type { AnyPolicy, Policy, ResponsePhase, SlotName } from "./stage.ts"
import type { AnyTerminal, Terminal } from "./terminal.ts"

type ByName<L extends ReadonlyArray<AnyPolicy>> = { readonly [P in L[number] as P["name"]]: P }

type SitesOf<P> =
  P extends Policy<infer _N, infer _S, infer At, infer _I, infer _R, infer _W, infer _E, infer _Q> ? At : never
type RespondsOf<P> =
  P extends Policy<infer _N, infer _S, infer _A, infer In, infer _R, infer _W, infer _E, infer _Q> ? In : never
type Reads<P> =
  P extends Policy<infer _N, infer _S, infer _A, infer _I, infer R, infer _W, infer _E, infer _Q> ? SlotName<R> : never
type Writes<P> =
  P extends Policy<infer _N, infer _S, infer _A, infer _I, infer _R, infer W, infer _E, infer _Q> ? SlotName<W> : never

/** The names of the policies that may be attached at a site. */
type NamesAt<L extends ReadonlyArray<AnyPolicy>, At extends Site> = {
  [N in keyof ByName<L>]: At extends SitesOf<ByName<L>[N]> ? N : never
}[keyof ByName<L>] &
  string

/** `route transformations`: a policy with nodes in a phase from the call on, and the site at which it is attached. */
type NamesIn<L extends ReadonlyArray<AnyPolicy>, In extends ResponsePhase> = {
  [N in keyof ByName<L> & string]: In extends RespondsOf<ByName<L>[N]> ? `${SitesOf<ByName<L>[N]>} ${N}` : never
}[keyof ByName<L> & string]

/** The order of each phase. Every policy that takes part in a phase stands in its order exactly once. */
export interface Orders {
  readonly connection: ReadonlyArray<string>
  readonly gateway: ReadonlyArray<string>
  readonly route: ReadonlyArray<string>
  readonly backend: ReadonlyArray<string>
  readonly call: ReadonlyArray<string>
  readonly backendResponse: ReadonlyArray<string>
  readonly response: ReadonlyArray<string>
}

type Permutation<Order extends ReadonlyArray<string>, Names extends string, Phase extends string> = [
  Exclude<Names, Order[number]>
] extends [never]
  ? [Exclude<Order[number], Names>] extends [never]
    ? unknown
    : { readonly [P in `order of ${Phase}`]: `${Exclude<Order[number], Names>} has no place in it` }
  : { readonly [P in `order of ${Phase}`]: `${Exclude<Names, Order[number]>} is missing in it` }

/** Walks an order with the slots written so far; yields those written in the end, or the first complaint. */
type Walk<P, Order, Seen extends string> = Order extends readonly [infer H, ...infer T]
  ? H extends keyof P
    ? [Exclude<Reads<P[H]>, Seen | Writes<P[H]>>] extends [never]
      ? Walk<P, T, Seen | Writes<P[H]>>
      : {
          readonly "stage order": `${H & string} reads ${Exclude<Reads<P[H]>, Seen | Writes<P[H]>>}, written by no earlier policy`
        }
    : Walk<P, T, Seen>
  : Seen

// `[X] extends [string]` also holds for never: no slot was written yet.
type Ordered<P, O extends Orders> =
  Walk<P, O["gateway"], SlotName<(typeof lateSlots)[number]>> extends infer G
    ? [G] extends [string]
      ? Walk<P, O["route"], G> extends infer R
        ? [R] extends [string]
          ? Walk<P, O["backend"], R> extends infer B
            ? [B] extends [string]
              ? unknown
              : B
            : never
          : R
        : never
      : G
    : never

type Checked<L extends ReadonlyArray<AnyPolicy>, O extends Orders> = Permutation<
  O["connection"],
  NamesAt<L, "connection">,
  "connection"
> &
  Permutation<O["gateway"], NamesAt<L, "gateway">, "gateway"> &
  Permutation<O["route"], NamesAt<L, "route">, "route"> &
  Permutation<O["backend"], NamesAt<L, "backend">, "backend"> &
  Permutation<O["call"], NamesIn<L, "call">, "call"> &
  Permutation<O["backendResponse"], NamesIn<L, "backendResponse">, "backendResponse"> &
  Permutation<O["response"], NamesIn<L, "response">, "response"> &
  Ordered<ByName<L>, O>

type Fields<L extends ReadonlyArray<AnyPolicy>> = {
  readonly [P in L[number] as P["name"]]: Schema.optionalKey<P["schema"]>
}

/** The policies that a proxy knows, and the order in which they run in each phase. */
export interface Registry<L extends ReadonlyArray<AnyPolicy> = ReadonlyArray<AnyPolicy>, O extends Orders = Orders> {
  readonly policies: L
  readonly byName: ReadonlyMap<string, AnyPolicy>
  readonly orders: O
  /** The `policies` object of a route, as far as it exists. */
  readonly schema: Schema.Struct<Fields<L>>
}

/** What compiling any of the policies needs. */
export type Services<L extends ReadonlyArray<AnyPolicy>> = Exclude<
  Effect.Services<ReturnType<L[number]["compile"]>>,
  Scope.Scope
>

/**
 * Makes a registry. A policy that reads a slot which nothing before it writes, or that an order forgets or does not
 * know, is a type error that says so.
 */
export const registry = <const L extends ReadonlyArray<AnyPolicy>, const O extends Orders>(
  policies: L,
  orders: O & Checked<L, O>
): Registry<L, O> => {
  const byName = new Map<string, AnyPolicy>(policies.map((policy) => [policy.name, policy]))
  for (const [phase, order] of Object.entries(orders as Orders))
    if (new Set(order).size !== order.length)
      throw new TypeError(`a policy stands twice in the order of phase ${phase}`)
  return {
    policies,
    byName,
    orders,
    // The keys are computed, so the compiler cannot see that they are those of Fields<L>.
    schema: Schema.Struct(
      Object.fromEntries(policies.map((policy) => [policy.name, Schema.optionalKey(policy.schema)]))
    ) as unknown as Schema.Struct<Fields<L>>
  }
}

type TerminalReads<T> = T extends Terminal<infer _N, infer _S, infer _Q, infer R, infer _W> ? SlotName<R> : never

/** What terminals read and no policy writes. */
type Unfed<L extends ReadonlyArray<AnyPolicy>, T extends ReadonlyArray<AnyTerminal>> = {
  [I in keyof T]: Exclude<TerminalReads<T[I]>, Writes<L[number]>>
}[number]

/** The terminals behind the policies of a registry. One that reads a slot which none of them writes is a type error. */
export const terminalsBehind = <const L extends ReadonlyArray<AnyPolicy>, const T extends ReadonlyArray<AnyTerminal>>(
  _: Registry<L>,
  terminals: T &
    ([Unfed<L, T>] extends [never]
      ? unknown
      : { readonly terminals: `one of them reads ${Unfed<L, T>}, written by no policy` })
): T => terminals
