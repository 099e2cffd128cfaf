/** What the thread that checks passwords is told, and what it tells. */

export interface Order {
  readonly id: number
  readonly password: string
  readonly hash: string
}

/** Without `matches` it could not be told. */
export interface Checked {
  readonly id: number
  readonly matches: boolean | undefined
}
