/**
 * dynamic: calls whatever the request names, at any address: the rules of its route decide who may call what. A request that
 * comes back to this process is refused, since it would come back for ever.
 */
import { Data, Effect, Exit } from "effect"
import {
  CelError,
  compileExpression,
  contentReadings,
  decided,
  type Expression,
  expressionReadings,
  next,
  preparation,
  type StageError,
  slot,
  slots,
  Unreadable,
  type Verdict
} from "../../src/policy/policy.ts"
import {
  type Address,
  type Call,
  type Chosen,
  type CompiledBackend,
  callUpstream,
  formatAddress,
  type Passage,
  parseUrl,
  terminal,
  Upstreams
} from "../../src/policy/terminal.ts"
import { DynamicBackend } from "./schema.ts"

/** What the request names is no address of a server. */
class NoDestination extends Data.TaggedError("NoDestination") implements StageError {
  readonly status = 400
  readonly source = "client"
  override readonly message = "the request names no destination"
}

/** The request has been here before. */
class RequestLoop extends Data.TaggedError("RequestLoop") implements StageError {
  readonly status = 508
  readonly source = "client"
  override readonly message = "the request came back to the gateway that sent it"
}

const destination = slot<Address>()("dynamicDestination", "attempt")

const reads = [slots.timeouts, ...slots.expressionSlots] as const
type DynamicSlots = (typeof reads)[number] | typeof destination

export const backendDynamic = terminal({
  name: "dynamic",
  schema: DynamicBackend,
  reads,
  writes: [destination],
  outcomes: ["next", "fail"],
  failsClosed: [...contentReadings("dynamic"), ...expressionReadings("dynamic")],
  maturity: { status: "alpha", untrusted: "client+backend" },
  compile: ({ target }, at, _name, connections) =>
    Effect.flatMap(Upstreams, ({ openChosen }) =>
      Effect.zipWith(
        target === undefined ? Effect.undefined : compileExpression(target, "backend", [...at, "target"]),
        openChosen(connections),
        (named, chosen) => compiledBackend(chosen, named, connections.tls === undefined ? "http" : "https")
      )
    )
})

const compiledBackend = (
  { pseudonym, at }: Chosen,
  named: Expression | undefined,
  scheme: "http" | "https"
): CompiledBackend<DynamicSlots> => {
  const prepare = named === undefined ? undefined : preparation([named])
  const choose = (x: Call<DynamicSlots>, passage: Passage): Effect.Effect<Verdict, StageError> => {
    const { authority, headers, version } = x.request
    if (headers.getAll("via").some((line) => line.includes(pseudonym))) return loop
    const text = named === undefined ? authority : textOf(named, x)
    if (text instanceof Unreadable) return Exit.fail(text)
    const address = text === undefined ? undefined : addressOf(scheme, text)
    if (address === undefined) return nowhere
    x.set(destination, address)
    passage.endpoint = formatAddress(address)
    headers.add("via", `${version} ${pseudonym}`)
    return next
  }
  return {
    type: "dynamic",
    protocol: "http",
    target: "dynamic",
    nodes: [
      {
        name: "dynamic",
        phase: "request",
        reads: slots.expressionSlots,
        writes: [destination],
        outcomes: ["next", "fail"],
        run: prepare === undefined ? choose : (x, passage) => Effect.flatMapEager(prepare(x), () => choose(x, passage))
      }
    ],
    reads: [slots.timeouts, destination],
    keepsTime: true,
    call: (x, passage) => callUpstream(x, passage, at(x.get(destination)!))
  }
}

const nowhere = Exit.fail(new NoDestination())
const loop = Exit.fail(new RequestLoop())

const textOf = (expression: Expression, x: Call<DynamicSlots>): string | undefined | Unreadable => {
  const value = decided(expression, x.variables)
  if (value instanceof Unreadable) return value
  return value instanceof CelError || typeof value !== "string" ? undefined : value
}

/** A host, and a port where it is not that of the scheme; never a path, nor a socket of this machine. */
const addressOf = (scheme: "http" | "https", named: string): Address | undefined =>
  named.includes("/") ? undefined : parseUrl(`${scheme}://${named}`)?.address
