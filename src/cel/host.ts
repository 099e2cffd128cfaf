/** Reads the host's objects as values: each field is converted by its declared kind, when it is read. */
import type { Bindings } from "./bindings.ts"
import { jsonField } from "./compare.ts"
import { HeadersView } from "./headers.ts"
import { fromJson } from "./json.ts"
import type { FieldType, RawHeaders, ScalarKind, Struct } from "./schema.ts"
import { isStruct } from "./schema.ts"
import { Duration, Timestamp } from "./time.ts"
import { type CelValue, type JsonObject, MapView, SecretValue } from "./value.ts"

/** An object of the host whose shape a {@link Struct} describes. */
export type HostObject = Readonly<Record<string, unknown>>

/** Converts what the host holds for a field; the declared kind guarantees its type. */
export const fromHost = (
  type: FieldType,
  held: unknown,
  sensitive: Bindings["sensitiveHeaders"]
): CelValue | undefined => {
  if (held === undefined || held === null) return held
  return isStruct(type) ? new StructView(type, held as HostObject, sensitive) : converters[type](held, sensitive)
}

type Convert = (held: unknown, sensitive: Bindings["sensitiveHeaders"]) => CelValue

/** The one place where the type of a host value is taken on trust: {@link Bindings} is typed from the same declarations. */
const converters: Readonly<Record<ScalarKind, Convert>> = {
  string: (held) => held as string,
  strings: (held) => held as ReadonlyArray<string>,
  secret: (held) => new SecretValue(held as string),
  int: (held) => (typeof held === "bigint" ? held : BigInt(Math.trunc(held as number))),
  double: (held) => held as number,
  bool: (held) => held as boolean,
  bytes: (held) => held as Uint8Array,
  timestamp: (held) => Timestamp.fromMillis(held as number),
  duration: (held) => Duration.fromMillis(held as number),
  headers: (held, sensitive) => new HeadersView(held as RawHeaders, sensitive),
  json: (held) => fromJson(held),
  value: (held) => held as CelValue
}

/** Whether a field is held as its value is, so that it can be read without a conversion. */
export const isHeldAsIs = (type: FieldType): boolean =>
  type === "string" ||
  type === "strings" ||
  type === "double" ||
  type === "bool" ||
  type === "bytes" ||
  type === "value"

/** A field that is known only at run time. */
export const restField = (struct: Struct, host: HostObject, name: string): CelValue | undefined => {
  const rest = host["rest"]
  if (struct.rest === undefined || rest === undefined || rest === null) return undefined
  if (struct.rest === "json") return jsonField(rest as JsonObject, name)
  return Object.hasOwn(rest, name) ? (rest as Readonly<Record<string, CelValue>>)[name] : undefined
}

/** A variable, or a structure inside one, as a map: made only when an expression uses the whole of it. */
export class StructView extends MapView {
  readonly #struct: Struct
  readonly #host: HostObject
  readonly #sensitive: Bindings["sensitiveHeaders"]

  constructor(struct: Struct, host: HostObject, sensitive: Bindings["sensitiveHeaders"]) {
    super()
    this.#struct = struct
    this.#host = host
    this.#sensitive = sensitive
  }

  get(key: string): CelValue | undefined {
    if (!Object.hasOwn(this.#struct.fields, key)) return restField(this.#struct, this.#host, key)
    return fromHost(this.#struct.fields[key]!.type, this.#host[key], this.#sensitive)
  }

  keys(): Array<string> {
    const declared = Object.keys(this.#struct.fields).filter((name) => this.#host[name] !== undefined)
    const rest = this.#struct.rest === undefined ? [] : Object.keys(this.#host["rest"] ?? {})
    return [...declared, ...rest.filter((name) => !Object.hasOwn(this.#struct.fields, name))]
  }
}
