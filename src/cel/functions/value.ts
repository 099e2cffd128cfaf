/** Functions on optionals, headers and secrets, and those that make values out of nothing. */
import { randomUUID } from "node:crypto"
import { elementAt, lengthOf, sizeOfMap } from "../compare.ts"
import { type Frame, type Outcome, outOfWork, tooLarge } from "../frame.ts"
import { global, invalid, method } from "../function.ts"
import { HeadersView } from "../headers.ts"
import { kindOf } from "../kind.ts"
import { maxElements } from "../limits.ts"
import { noOverload } from "../operators.ts"
import { CelError } from "../problem.ts"
import { Duration, Timestamp } from "../time.ts"
import { CelList, type CelValue, type ListValue, type MapValue, Optional, Uint } from "../value.ts"

/** Whether a value is what its type starts from: zero, empty, false, null. */
const isZero = (value: CelValue): boolean => {
  switch (typeof value) {
    case "boolean":
      return !value
    case "string":
      return value === ""
    case "bigint":
      return value === 0n
    case "number":
      return value === 0
  }
  if (value === null) return true
  if (value instanceof Uint) return value.value === 0n
  if (value instanceof Uint8Array) return value.length === 0
  if (value instanceof Timestamp || value instanceof Duration) return value.nanos === 0n
  if (value instanceof Optional) return value.value === undefined
  const kind = kindOf(value)
  if (kind === "list") return lengthOf(value as ListValue) === 0
  return kind === "map" && sizeOfMap(value as MapValue) === 0
}

const noValue = invalid("the optional has no value")

const unwrap = (frame: Frame, list: ListValue): Outcome => {
  const items: Array<CelValue> = []
  for (let i = 0; i < lengthOf(list); i++) {
    if (!frame.spend(1)) return outOfWork
    const item = elementAt(list, i)
    if (!(item instanceof Optional)) return noOverload("optional.unwrap", item)
    if (item.value !== undefined && items.push(item.value) > maxElements) return tooLarge
  }
  return new CelList(items)
}

const headers = (name: string, value: MapValue, then: (view: HeadersView) => Outcome): Outcome =>
  value instanceof HeadersView ? then(value) : noOverload(name, value)

const cookie = (view: HeadersView, name: string): Outcome =>
  view.cookie(name) ?? new CelError("no_such_key", "no such cookie")

const impure = { pure: false, cost: 10 } as const

export const valueFunctions = [
  global("optional.of", ["dyn"], "optional", (_, value) => new Optional(value)),
  global("optional.none", [], "optional", () => Optional.none),
  global(
    "optional.ofNonZeroValue",
    ["dyn"],
    "optional",
    (_, value) => (isZero(value) ? Optional.none : new Optional(value)),
    { cost: 12 }
  ),
  global("optional.unwrap", ["list"], "list", unwrap),
  method("unwrapOpt", ["list"], "list", unwrap),
  method("hasValue", ["optional"], "bool", (_, optional) => optional.value !== undefined),
  method("value", ["optional"], "dyn", (_, optional) => (optional.value === undefined ? noValue : optional.value)),
  method("join", ["map"], "map", (_, map) => headers("join", map, (view) => view.as("join")), { cost: 4 }),
  method("raw", ["map"], "map", (_, map) => headers("raw", map, (view) => view.as("raw")), { cost: 4 }),
  method("split", ["map"], "map", (_, map) => headers("split", map, (view) => view.as("split")), { cost: 4 }),
  method("redacted", ["map"], "map", (_, map) => headers("redacted", map, (view) => view.redacted()), { cost: 4 }),
  method(
    "cookie",
    ["map", "string"],
    "string",
    (_, map, name) => headers("cookie", map, (view) => cookie(view, name)),
    { cost: 20 }
  ),
  method("unredacted", ["secret"], "string", (_, secret) => secret.unredacted()),
  global("random", [], "double", () => Math.random(), impure),
  global("uuid", [], "string", () => randomUUID(), impure),
  global("fail", ["string"], "dyn", (_, message) => new CelError("failed", message), impure)
]
