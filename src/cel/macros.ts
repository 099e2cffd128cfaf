/** The macros: calls whose arguments are evaluated with a new variable, many times or perhaps not at all. */
import { keysOf, sortedOrder, valueAt } from "./compare.ts"
import type { Compiled, Compiler } from "./compile.ts"
import { type Frame, type Outcome, outOfWork, type Run, tooLarge } from "./frame.ts"
import { fromJson } from "./json.ts"
import { kindOf } from "./kind.ts"
import { maxElements } from "./limits.ts"
import { noOverload } from "./operators.ts"
import { CelError } from "./problem.ts"
import type { Scope } from "./scope.ts"
import type { Node, NodeOf } from "./syntax.ts"
import { turnCost } from "./turn-cost.ts"
import { CelList, CelMap, type CelValue, type MapValue, Optional } from "./value.ts"

/** What a macro runs over, ready to be indexed. */
interface Range {
  readonly items: ReadonlyArray<unknown>
  /** Whether the items are JSON still. */
  readonly json: boolean
  /** The map whose keys the items are. */
  readonly map: MapValue | undefined
}

const rangeOf = (value: CelValue): Range | undefined => {
  if (Array.isArray(value)) return { items: value, json: true, map: undefined }
  if (value instanceof CelList) return { items: value.items, json: false, map: undefined }
  if (kindOf(value) !== "map") return undefined
  return { items: keysOf(value as MapValue), json: false, map: value as MapValue }
}

/** A macro over a range, its parts compiled. */
interface Loop {
  readonly node: NodeOf<"call">
  readonly range: Run
  /** Slots of the variables; the second is -1 where there is one variable only. */
  readonly first: number
  readonly second: number
  /** Work of one turn. */
  readonly cost: number
}

/** Gives the variables of a loop their values for one turn. */
const place = (frame: Frame, { first, second }: Loop, range: Range, at: number): void => {
  const item = range.items[at]
  const value = range.json ? fromJson(item) : (item as CelValue)
  if (second === -1) frame.locals[first] = value
  else if (range.map === undefined) {
    frame.locals[first] = BigInt(at)
    frame.locals[second] = value
  } else {
    frame.locals[first] = value
    frame.locals[second] = valueAt(range.map, value) ?? null
  }
}

/** Runs a loop's body, which gets the range; errors of the range itself pass. */
const over = (loop: Loop, body: (frame: Frame, range: Range) => Outcome): Run => {
  const { node, range } = loop
  return (frame) => {
    const value = range(frame)
    if (value instanceof CelError) return value
    const items = rangeOf(value)
    if (items === undefined) return noOverload(node.name, value).at(node.start, node.end)
    const result = body(frame, items)
    return result instanceof CelError ? result.at(node.start, node.end) : result
  }
}

/** `all` stops at the first false, `exists` at the first true; an error counts only where no turn decides. */
const quantifier = (loop: Loop, predicate: Run, stop: boolean): Run =>
  over(loop, (frame, range) => {
    let failed: CelError | undefined
    for (let at = 0; at < range.items.length; at++) {
      if (!frame.spend(loop.cost)) return outOfWork
      place(frame, loop, range, at)
      const value = predicate(frame)
      if (value === stop) return stop
      if (value === !stop) continue
      if (value instanceof CelError) frame.pass(value)
      failed ??= notBool(loop, value)
    }
    return failed ?? !stop
  })

const existsOne = (loop: Loop, predicate: Run): Run =>
  over(loop, (frame, range) => {
    let count = 0
    let failed: CelError | undefined
    for (let at = 0; at < range.items.length; at++) {
      if (!frame.spend(loop.cost)) return outOfWork
      place(frame, loop, range, at)
      const value = predicate(frame)
      if (value instanceof CelError) frame.pass(value)
      if (value === true) count++
      else if (value !== false) failed ??= notBool(loop, value)
    }
    return failed ?? count === 1
  })

/** A list of what `transform` gives for the turns that `filter` lets pass. */
const collect = (loop: Loop, filter: Run | undefined, transform: Run): Run =>
  over(loop, (frame, range) => {
    const items: Array<CelValue> = []
    for (let at = 0; at < range.items.length; at++) {
      if (!frame.spend(loop.cost)) return outOfWork
      place(frame, loop, range, at)
      const passes = filter === undefined || filter(frame)
      if (passes === false) continue
      if (passes !== true) return notBool(loop, passes)
      const value = transform(frame)
      if (value instanceof CelError) return value
      if (items.push(value) > maxElements) return tooLarge
    }
    return new CelList(items)
  })

/** A map with the keys of the range, or the entries of the maps that `transform` gives. */
const collectMap = (loop: Loop, filter: Run | undefined, transform: Run, entries: boolean): Run =>
  over(loop, (frame, range) => {
    const map = new CelMap()
    for (let at = 0; at < range.items.length; at++) {
      if (!frame.spend(loop.cost)) return outOfWork
      place(frame, loop, range, at)
      const passes = filter === undefined || filter(frame)
      if (passes === false) continue
      if (passes !== true) return notBool(loop, passes)
      const value = transform(frame)
      if (value instanceof CelError) return value
      if (!entries) map.set(frame.locals[loop.first] as CelValue, value)
      else if (kindOf(value) !== "map") return noOverload(loop.node.name, value)
      else
        for (const key of keysOf(value as MapValue)) {
          if (map.get(key) !== undefined) return new CelError("invalid_argument", "two entries have the same key")
          if (!frame.spend(1)) return outOfWork
          map.set(key, valueAt(value as MapValue, key)!)
        }
      if (map.size > maxElements) return tooLarge
    }
    return map
  })

/** Entries of a map that the predicate on the key lets pass, the values untouched. */
const filterKeys = (loop: Loop, predicate: Run): Run =>
  over(loop, (frame, range) => {
    if (range.map === undefined) return noOverload(loop.node.name, new CelList([]))
    const map = new CelMap()
    for (let at = 0; at < range.items.length; at++) {
      if (!frame.spend(loop.cost)) return outOfWork
      place(frame, loop, range, at)
      const passes = predicate(frame)
      if (passes === false) continue
      if (passes !== true) return notBool(loop, passes)
      const key = range.items[at] as CelValue
      map.set(key, valueAt(range.map, key)!)
      if (map.size > maxElements) return tooLarge
    }
    return map
  })

const mapValues = (loop: Loop, transform: Run): Run =>
  over(loop, (frame, range) => {
    if (range.map === undefined) return noOverload(loop.node.name, new CelList([]))
    const map = new CelMap()
    for (let at = 0; at < range.items.length; at++) {
      if (!frame.spend(loop.cost)) return outOfWork
      const key = range.items[at] as CelValue
      frame.locals[loop.first] = valueAt(range.map, key)!
      const value = transform(frame)
      if (value instanceof CelError) return value
      map.set(key, value)
      if (map.size > maxElements) return tooLarge
    }
    return map
  })

/** The list in the order of the keys that `key` gives, which need a common order; equal keys keep their order. */
const sortBy = (loop: Loop, key: Run): Run =>
  over(loop, (frame, range) => {
    if (range.map !== undefined) return noOverload(loop.node.name, range.map)
    if (range.items.length > maxElements) return tooLarge
    const keys: Array<CelValue> = []
    for (let at = 0; at < range.items.length; at++) {
      if (!frame.spend(loop.cost)) return outOfWork
      place(frame, loop, range, at)
      const value = key(frame)
      if (value instanceof CelError) return value
      keys.push(value)
    }
    const order = sortedOrder(keys, frame)
    if (order instanceof CelError) return order
    return new CelList(order.map((at) => (range.json ? fromJson(range.items[at]) : (range.items[at] as CelValue))))
  })

const notBool = (loop: Loop, value: Outcome): CelError =>
  value instanceof CelError ? value : noOverload(loop.node.name, value)

/** Binds a value to a name: `cel.bind(name, value, body)`, `value.with(name, body)`. */
const binding =
  (value: Run, slot: number, body: Run): Run =>
  (frame) => {
    const bound = value(frame)
    if (bound instanceof CelError) return bound
    frame.locals[slot] = bound
    return body(frame)
  }

/** `x.optMap(name, body)` and `x.optFlatMap(name, body)`: the body only where there is a value. */
const optionalMap = (node: NodeOf<"call">, optional: Run, slot: number, body: Run): Run => {
  const flat = node.name === "optFlatMap"
  const fail = (value: CelValue) => noOverload(node.name, value).at(node.start, node.end)
  return (frame) => {
    const value = optional(frame)
    if (value instanceof CelError) return value
    if (!(value instanceof Optional)) return fail(value)
    if (value.value === undefined) return Optional.none
    frame.locals[slot] = value.value
    const result = body(frame)
    if (result instanceof CelError) return result
    return flat ? (result instanceof Optional ? result : fail(result)) : new Optional(result)
  }
}

const oneVariable = new Set([
  "all",
  "exists",
  "exists_one",
  "existsOne",
  "map",
  "filter",
  "mapValues",
  "filterKeys",
  "sortBy"
])
const twoVariables = new Set([
  "all",
  "exists",
  "exists_one",
  "existsOne",
  "transformList",
  "transformMap",
  "transformMapEntry"
])

/** The names of all macros that introduce a variable. */
export const macroNames: ReadonlySet<string> = new Set([
  ...oneVariable,
  ...twoVariables,
  "bind",
  "with",
  "optMap",
  "optFlatMap"
])

/** A macro taken apart: what is evaluated outside of it, the names it introduces, and what is evaluated with them. */
export interface Macro {
  readonly form: "loop" | "binding" | "optional"
  readonly outside: Node
  readonly names: ReadonlyArray<Node>
  readonly bodies: ReadonlyArray<Node>
}

/** Recognises a macro by its name and the number of its arguments. `has` is none: it introduces no name. */
export const macroOf = (node: NodeOf<"call">): Macro | undefined => {
  const { name, target, args } = node
  if (target === undefined) return undefined
  if (name === "bind" && args.length === 3 && target.kind === "ident" && target.name === "cel")
    return { form: "binding", outside: args[1]!, names: [args[0]!], bodies: [args[2]!] }
  if (name === "with" && args.length === 2)
    return { form: "binding", outside: target, names: [args[0]!], bodies: [args[1]!] }
  if ((name === "optMap" || name === "optFlatMap") && args.length === 2)
    return { form: "optional", outside: target, names: [args[0]!], bodies: [args[1]!] }
  if (oneVariable.has(name) && (args.length === 2 || (name === "map" && args.length === 3)))
    return { form: "loop", outside: target, names: args.slice(0, 1), bodies: args.slice(1) }
  if (twoVariables.has(name) && (args.length === 3 || (name.startsWith("transform") && args.length === 4)))
    return { form: "loop", outside: target, names: args.slice(0, 2), bodies: args.slice(2) }
  return undefined
}

/** Compiles a call that is a macro; `undefined` where it is none. */
export const compileMacro = (
  compiler: Compiler,
  node: NodeOf<"call">,
  scope: Scope | undefined
): Compiled | undefined => {
  const macro = macroOf(node)
  if (macro === undefined) return undefined
  const outside = compiler.compile(macro.outside, scope)
  let inner = scope
  const slots = macro.names.map((variable) => {
    if (variable.kind !== "ident" || variable.absolute)
      compiler.report(variable, "a macro needs the name of its variable here")
    const name = variable.kind === "ident" ? variable.name : ""
    if (inner !== scope && inner?.name === name)
      compiler.report(variable, `two variables of ${node.name} have the same name`)
    inner = compiler.bind(name, inner)
    return inner.slot
  })
  const bodies = macro.bodies.map((body) => compiler.compile(body, inner))
  const parts = [outside, ...bodies]
  const body = bodies.at(-1)!.run
  const [first, second = -1] = slots as [number, number?]
  if (macro.form === "binding") return compiler.fold(parts, binding(outside.run, first, body))
  if (macro.form === "optional") return compiler.fold(parts, optionalMap(node, outside.run, first, body))
  const cost = macro.bodies.reduce((sum, part) => sum + turnCost(part), 0)
  return compiler.fold(
    parts,
    loopRun({ node, range: outside.run, first, second, cost }, bodies.length === 2 ? bodies[0]!.run : undefined, body)
  )
}

const loopRun = (loop: Loop, filter: Run | undefined, body: Run): Run => {
  switch (loop.node.name) {
    case "all":
      return quantifier(loop, body, false)
    case "exists":
      return quantifier(loop, body, true)
    case "exists_one":
    case "existsOne":
      return existsOne(loop, body)
    case "filter":
      return collect(loop, body, (frame) => frame.locals[loop.first]!)
    case "mapValues":
      return mapValues(loop, body)
    case "filterKeys":
      return filterKeys(loop, body)
    case "sortBy":
      return sortBy(loop, body)
    case "transformMap":
      return collectMap(loop, filter, body, false)
    case "transformMapEntry":
      return collectMap(loop, filter, body, true)
    default:
      return collect(loop, filter, body)
  }
}
