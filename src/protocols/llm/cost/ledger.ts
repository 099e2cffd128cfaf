/**
 * The books of a proxy: every attempt of every request is charged at most once, to its request and to the counter in the same step, so
 * that the counter is the sum of the requests' costs at every moment, however aborts, retries and streams interleave.
 */
import type { Usage } from "../usage/usage.ts"
import type { Priced } from "./price.ts"
import type { Picodollars } from "./usd.ts"

/** Looks up what a usage costs: `price`, with catalogue, provider and models already given. */
export type Pricing = (usage: Usage) => Priced

/** What a settlement found out; given out once per attempt, for whoever keeps metrics and limits. */
export interface Settled {
  readonly usage: Usage | undefined
  readonly priced: Priced | undefined
}

/** The counter. */
export class Ledger {
  private sum: Picodollars = 0n

  get total(): Picodollars {
    return this.sum
  }

  open(): RequestAccount {
    return new RequestAccount((amount) => {
      this.sum += amount
    })
  }
}

/** One client request, whatever number of attempts it takes. */
export class RequestAccount {
  private readonly charge: (amount: Picodollars) => void
  private sum: Picodollars = 0n

  constructor(charge: (amount: Picodollars) => void) {
    this.charge = charge
  }

  /** What the settled attempts cost together. */
  get cost(): Picodollars {
    return this.sum
  }

  /** A call to a provider begins. It must be settled when its answer is complete, breaks off, or is dropped. */
  attempt(pricing: Pricing): Attempt {
    return new Attempt(pricing, (amount) => {
      this.sum += amount
      this.charge(amount)
    })
  }
}

/** One call to a provider. */
export class Attempt {
  private readonly pricing: Pricing
  private readonly charge: (amount: Picodollars) => void
  private usage: Usage | undefined
  private open = true

  constructor(pricing: Pricing, charge: (amount: Picodollars) => void) {
    this.pricing = pricing
    this.charge = charge
  }

  /** The usage as far as it is known; the last one before the settlement counts. */
  observe(usage: Usage): void {
    if (this.open) this.usage = usage
  }

  /** Charges what was observed. Only the first call does; the others return `undefined`. Without usage there is nothing to charge. */
  settle(): Settled | undefined {
    if (!this.open) return undefined
    this.open = false
    const { usage } = this
    if (usage === undefined) return { usage, priced: undefined }
    const priced = this.pricing(usage)
    if (priced.status === "Exact") this.charge(priced.cost.total)
    return { usage, priced }
  }
}
