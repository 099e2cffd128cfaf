/** Where a policy of one's own stands in an order: before or after one that is there. */

/** The order with `N` after `A`. */
export type After<O, A, N> = O extends readonly [infer H, ...infer T]
  ? [H] extends [A]
    ? readonly [H, N, ...T]
    : readonly [H, ...After<T, A, N>]
  : readonly []

/** The order with `N` before `A`. */
export type Before<O, A, N> = O extends readonly [infer H, ...infer T]
  ? [H] extends [A]
    ? readonly [N, H, ...T]
    : readonly [H, ...Before<T, A, N>]
  : readonly []

/** Puts a policy behind another. That `anchor` stands in the order is checked by its type. */
export const after = <const O extends ReadonlyArray<string>, const A extends O[number], const N extends string>(
  order: O,
  anchor: A,
  name: N
): After<O, A, N> => order.toSpliced(order.indexOf(anchor) + 1, 0, name) as unknown as After<O, A, N>

/** Puts a policy in front of another. That `anchor` stands in the order is checked by its type. */
export const before = <const O extends ReadonlyArray<string>, const A extends O[number], const N extends string>(
  order: O,
  anchor: A,
  name: N
): Before<O, A, N> => order.toSpliced(order.indexOf(anchor), 0, name) as unknown as Before<O, A, N>
