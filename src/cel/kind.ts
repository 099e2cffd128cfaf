/** Run-time types: which kind a value is of, and what the language calls it. */
import { Cidr, Ip } from "./network.ts"
import { Duration, Timestamp } from "./time.ts"
import {
  CelList,
  CelMap,
  type CelValue,
  type JsonObject,
  type ListValue,
  type MapValue,
  Optional,
  SecretValue,
  TypeValue,
  Uint
} from "./value.ts"

/** What a value of each kind is in JavaScript. */
export interface KindTypes {
  readonly null: null
  readonly bool: boolean
  readonly int: bigint
  readonly uint: Uint
  readonly double: number
  readonly string: string
  readonly bytes: Uint8Array
  readonly list: ListValue
  readonly map: MapValue
  readonly timestamp: Timestamp
  readonly duration: Duration
  readonly type: TypeValue
  readonly optional: Optional
  readonly ip: Ip
  readonly cidr: Cidr
  readonly secret: SecretValue
}

export type Kind = keyof KindTypes

/** Prototypes of the objects that are values; every other object is a map of JSON. */
const kinds = new Map<object, Kind>([
  [Object.prototype, "map"],
  [Array.prototype, "list"],
  [CelList.prototype, "list"],
  [CelMap.prototype, "map"],
  [Uint.prototype, "uint"],
  [Uint8Array.prototype, "bytes"],
  [Timestamp.prototype, "timestamp"],
  [Duration.prototype, "duration"],
  [TypeValue.prototype, "type"],
  [Optional.prototype, "optional"],
  [SecretValue.prototype, "secret"],
  [Ip.prototype, "ip"],
  [Cidr.prototype, "cidr"]
])

/** The kind of a value. */
export const kindOf = (value: CelValue): Kind => {
  switch (typeof value) {
    case "string":
      return "string"
    case "boolean":
      return "bool"
    case "bigint":
      return "int"
    case "number":
      return "double"
    default:
      if (value === null) return "null"
      return kinds.get(Object.getPrototypeOf(value)) ?? kindOfSubclass(value)
  }
}

const kindOfSubclass = (value: object): Kind => {
  if (value instanceof Uint8Array) return "bytes"
  if (Array.isArray(value)) return "list"
  return "map"
}

/** Whether a value is an object as `JSON.parse` makes them. */
export const isPlainObject = (value: CelValue): value is JsonObject =>
  typeof value === "object" && value !== null && Object.getPrototypeOf(value) === Object.prototype

const typeNames: Readonly<Record<Kind, string>> = {
  null: "null_type",
  bool: "bool",
  int: "int",
  uint: "uint",
  double: "double",
  string: "string",
  bytes: "bytes",
  list: "list",
  map: "map",
  timestamp: "google.protobuf.Timestamp",
  duration: "google.protobuf.Duration",
  type: "type",
  optional: "optional_type",
  ip: "net.IP",
  cidr: "net.CIDR",
  secret: "secret"
}

/** The name of the type of a value, as `type(x)` gives it. */
export const typeNameOf = (value: CelValue): string => typeNames[kindOf(value)]
