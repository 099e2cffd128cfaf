/** How a variable of the context is described: which fields it has, how the host holds them, and what an expression sees. */
import type { CelValue, JsonObject } from "./value.ts"

/**
 * Header lines as they stand: name, value, name, value, … with names in lower case. A name may occur several times.
 */
export type RawHeaders = ReadonlyArray<string>

/** What the host holds for a field of each kind, and what the expression sees (after the arrow). */
export interface HostTypes {
  /** → string */
  readonly string: string
  /** → list(string) */
  readonly strings: ReadonlyArray<string>
  /** → secret: shown as `<redacted>` unless `unredacted()` is called. */
  readonly secret: string
  /** an integral number → int */
  readonly int: number | bigint
  /** → double */
  readonly double: number
  /** → bool */
  readonly bool: boolean
  /** → bytes */
  readonly bytes: Uint8Array
  /** milliseconds since 1970, fractions allowed → timestamp */
  readonly timestamp: number
  /** milliseconds, fractions allowed → duration */
  readonly duration: number
  /** → header view */
  readonly headers: RawHeaders
  /** any parsed JSON → dyn */
  readonly json: unknown
  /** a value of the language → dyn */
  readonly value: CelValue
}

export type ScalarKind = keyof HostTypes

/** One field of a structure. */
export interface Field<Type extends FieldType = FieldType> {
  readonly type: Type
  /** One line for the reference page and for completion. */
  readonly doc: string
  /** The phases in which the field has a value, where they are fewer than those of its variable. */
  readonly phases?: ReadonlyArray<string>
  /** Whether it is a text with a query, where a credential may stand. */
  readonly query?: boolean
}

export type FieldType = ScalarKind | Struct

export interface Fields {
  readonly [name: string]: Field
}

/** An object with known fields. `rest` is the kind of every field that is not listed: the claims of a token beside `rawToken`. */
export interface Struct<F extends Fields = Fields> {
  readonly fields: F
  readonly rest?: "json" | "value"
}

/** The shape the host gives for a structure. An absent or `undefined` field is a missing key, `null` is null. */
export type HostOf<S extends Struct> = {
  readonly [K in keyof S["fields"]]?: HostTypeOf<S["fields"][K]["type"]> | null | undefined
} & (S extends { readonly rest: "json" | "value" } ? RestOf<S> : unknown)

type RestOf<S extends Struct> = S extends { readonly rest: "value" }
  ? { readonly rest?: { readonly [key: string]: CelValue } | undefined }
  : { readonly rest?: JsonObject | undefined }

export type HostTypeOf<T extends FieldType> = T extends Struct ? HostOf<T> : T extends ScalarKind ? HostTypes[T] : never

export const struct = <const F extends Fields>(fields: F): Struct<F> => ({ fields })

/** A structure with fields that are known only at run time; the host gives them in its property `rest`. */
export const open = <const F extends Fields, const R extends "json" | "value">(
  rest: R,
  fields: F
): Struct<F> & { readonly rest: R } => ({ fields, rest })

export const isStruct = (type: FieldType): type is Struct => typeof type !== "string"
