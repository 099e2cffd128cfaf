/** Numbers that look random and are the same every time: the seed is whatever the request says. */

/** 32-bit FNV-1a over UTF-16 units. */
export const hash = (text: string, seed = 0): number => {
  let h = 0x811c9dc5 ^ seed
  for (let i = 0; i < text.length; i++) h = Math.imul(h ^ text.charCodeAt(i), 0x01000193)
  return h >>> 0
}

/** Eight hexadecimal digits of a hash. */
export const hex = (value: number): string => value.toString(16).padStart(8, "0")

/** A generator of numbers from 0 to less than 1 (splitmix32). */
export const randomFrom = (seed: number): (() => number) => {
  let state = seed
  return () => {
    state = (state + 0x9e3779b9) | 0
    let z = state
    z = Math.imul(z ^ (z >>> 16), 0x85ebca6b)
    z = Math.imul(z ^ (z >>> 13), 0xc2b2ae35)
    return ((z ^ (z >>> 16)) >>> 0) / 0x1_0000_0000
  }
}
