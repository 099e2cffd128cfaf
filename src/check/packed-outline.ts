/**
 * The places of a large file in little memory, as they cross from the thread that checks it and are kept while it is served:
 * the loop asks for a place seldom, and what lies outside of the heap in every configuration adds up to a full collection.
 */
import { deflateRawSync, inflateRawSync } from "node:zlib"
import type { Outline } from "../../spec/config/outline.ts"

export interface PackedOutline {
  readonly values: Uint8Array
  readonly pieces: Uint8Array
  readonly names: ReadonlyArray<string>
  readonly disguises: ReadonlyMap<string, string>
}

/** Numbers of one kind recur at this distance: both tables have rows of six, or of three. */
const period = 6

/** What follows one another in a file differs by little, and by the same again and again. */
const pack = (numbers: Int32Array): Uint8Array => {
  const differences = numbers.map((number, index) => (index < period ? number : number - numbers[index - period]!))
  return deflateRawSync(new Uint8Array(differences.buffer))
}

const unpack = (packed: Uint8Array): Int32Array => {
  const bytes = inflateRawSync(packed)
  const numbers = new Int32Array(bytes.length / Int32Array.BYTES_PER_ELEMENT)
  new Uint8Array(numbers.buffer).set(bytes)
  for (let index = period; index < numbers.length; index++) numbers[index]! += numbers[index - period]!
  return numbers
}

export const packOutline = ({ values, pieces, names, disguises }: Outline): PackedOutline => ({
  values: pack(values),
  pieces: pack(pieces),
  names,
  disguises
})

/** Unpacks each part when it is first asked for; from then on there are both. */
export const unpackOutline = (packed: PackedOutline): Outline => {
  let values: Int32Array | undefined
  let pieces: Int32Array | undefined
  return {
    names: packed.names,
    disguises: packed.disguises,
    get values() {
      values ??= unpack(packed.values)
      return values
    },
    get pieces() {
      pieces ??= unpack(packed.pieces)
      return pieces
    }
  }
}
