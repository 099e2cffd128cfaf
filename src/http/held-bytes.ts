/** The bytes of bodies that the process holds in memory, whoever asked for it: one budget for all of them. */

/** 256 MiB. */
export const defaultHeldBytes = 256 * 1024 * 1024

export class HeldBytes {
  readonly most: number
  held = 0

  constructor(most: number = defaultHeldBytes) {
    this.most = most
  }

  /** Takes so many bytes of the budget; `false` when they are not there. */
  take(bytes: number): boolean {
    if (this.held + bytes > this.most) return false
    this.held += bytes
    return true
  }

  giveBack(bytes: number): void {
    this.held -= bytes
  }
}
