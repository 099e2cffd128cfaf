/** What lists and maps hold, for a host that makes something else of them, or keeps them for longer than an evaluation. */
import { elementAt, lengthOf } from "./compare.ts"
import { entriesOf } from "./json.ts"
import { kindOf } from "./kind.ts"
import { CelList, CelMap, type CelValue, type ListValue, type MapValue, MapView } from "./value.ts"

/** The elements of a list; `undefined` for anything else. */
export const elementsIn = (value: CelValue): Iterable<CelValue> | undefined =>
  kindOf(value) === "list" ? elements(value as ListValue) : undefined

/** The entries of a map; `undefined` for anything else. */
export const entriesIn = (value: CelValue): Iterable<readonly [CelValue, CelValue]> | undefined =>
  kindOf(value) === "map" ? entriesOf(value as MapValue) : undefined

function* elements(list: ListValue): Generator<CelValue> {
  const length = lengthOf(list)
  for (let at = 0; at < length; at++) yield elementAt(list, at)
}

/** The value as it is now: a view of something that may change, be it deep inside, is copied. What came as JSON does not change. */
export const settled = (value: CelValue): CelValue => {
  if (typeof value !== "object" || value === null) return value
  if (value instanceof CelList) return new CelList(value.items.map(settled))
  if (value instanceof MapView || value instanceof CelMap)
    return CelMap.of(Iterator.from(entriesOf(value)).map(([key, held]) => [key, settled(held)] as const))
  return value
}
