/** One limit of a route: whose bucket a request draws from, and what the client is told about it. */
import {
  type Bindings,
  type Buckets,
  CelError,
  type Draw,
  decided,
  type Expression,
  type HeaderList,
  inOtherReading,
  type RequestHead,
  SecretValue,
  type StageError,
  toText,
  Unreadable
} from "../../src/policy/policy.ts"

export interface Limit {
  /** The size of its buckets. */
  readonly size: number
  readonly key: Expression | undefined
  readonly buckets: Buckets
}

/**
 * A bucket is empty. Not an `Error`: it is made for every request that a limit refuses, and a stack trace would cost more
 * than the rest of the refusal.
 */
export class RateLimited implements StageError {
  readonly _tag = "RateLimited"
  readonly status = 429
  readonly message = "rate limit exceeded"
  readonly reason = "RateLimit"
  readonly source = "client"
  readonly headers: ReadonlyArray<string>

  constructor(limit: Limit, draw: Draw) {
    this.headers = limitHeaders(limit, draw)
  }
}

const limitHeader = "x-ratelimit-limit"
const remainingHeader = "x-ratelimit-remaining"
const resetHeader = "x-ratelimit-reset"

const limitHeaders = ({ size }: Limit, { remaining, reset }: Draw): ReadonlyArray<string> => [
  limitHeader,
  String(size),
  remainingHeader,
  String(remaining),
  // Whole seconds.
  resetHeader,
  String(Math.floor(reset / 1000))
]

/** What limits see of an exchange. */
interface Asking {
  readonly request: RequestHead
  readonly variables: Bindings
  readonly answerHeaders: HeaderList
}

/**
 * A key that is not there, is empty or fails means the bucket that all such requests share. One that cannot be read is
 * refused, and spellings of one path are one key: else whoever spells it oddly had a budget beside their own.
 */
const keyOf = ({ key }: Limit, { request, variables }: Asking): string | undefined | Unreadable => {
  if (key === undefined) return undefined
  const value =
    request.otherPath === undefined ? decided(key, variables) : inOtherReading(request, () => decided(key, variables))
  if (value instanceof Unreadable) return value
  if (value === null || value instanceof CelError) return undefined
  // The text of a secret tells its bearers apart; it goes no further than the name of a bucket.
  return value instanceof SecretValue ? value.unredacted() : toText(value)
}

/** What limits say of one request. */
export interface Drawn {
  /** In the order of the limits. */
  readonly draws: ReadonlyArray<Draw>
  readonly refused: RateLimited | Unreadable | undefined
}

/**
 * Asks every limit in order, up to the first that refuses; those before it have been charged then. The headers of the one
 * with the least left go on the answer, unless others are there already.
 */
export const drawAll = (
  limits: ReadonlyArray<Limit>,
  exchange: Asking,
  amount: number,
  demand: "all" | "any"
): Drawn => {
  const draws: Array<Draw> = []
  let tightest = 0
  for (const limit of limits) {
    const key = keyOf(limit, exchange)
    if (key instanceof Unreadable) return { draws, refused: key }
    const draw = limit.buckets.draw(key, amount, demand)
    draws.push(draw)
    if (!draw.admitted) return { draws, refused: new RateLimited(limit, draw) }
    if (draw.remaining < draws[tightest]!.remaining) tightest = draws.length - 1
  }
  const { answerHeaders } = exchange
  const told = answerHeaders.has(limitHeader) || answerHeaders.has(remainingHeader) || answerHeaders.has(resetHeader)
  if (!told) answerHeaders.flat.push(...limitHeaders(limits[tightest]!, draws[tightest]!))
  return { draws, refused: undefined }
}

/** Takes back what was told about other limits: the one that refused speaks for itself. */
export const forgetTold = (answerHeaders: HeaderList): void => {
  answerHeaders.delete(limitHeader)
  answerHeaders.delete(remainingHeader)
  answerHeaders.delete(resetHeader)
}
