/** buffer: holds a body back until it is whole, and refuses one that is too large. */
import { Effect } from "effect"
import {
  type BodyAborted,
  BodyTooLarge,
  BuffersFull,
  type Node,
  next,
  policy,
  slots,
  type Verdict
} from "../../src/policy/policy.ts"
import { Buffer } from "./schema.ts"

export const buffer = policy({
  name: "buffer",
  traceKey: "buffer",
  schema: Buffer,
  sites: ["route"],
  responds: ["response"],
  reads: [],
  writes: [slots.bodyLimits],
  outcomes: ["next", "fail"],
  maturity: { status: "stable", untrusted: "client+backend" },
  failOpen: (config, node) =>
    (node === "buffer.response" ? config.response : config.request)?.failureMode === "failOpen",
  compile: ({ request, response }) =>
    Effect.sync(() => {
      const limits = { request: request?.maxBytes, response: response?.maxBytes }
      const nodes: Array<Node<never, typeof slots.bodyLimits, BodyTooLarge | BuffersFull>> = [
        {
          // Holds for later stages, too, whatever becomes of the body here.
          name: "buffer.limits",
          phase: "request",
          outcomes: ["next"],
          run: (x) => {
            x.set(slots.bodyLimits, limits)
            return next
          }
        }
      ]
      if (request !== undefined)
        nodes.push({
          name: "buffer",
          phase: "request",
          writes: [],
          run: (x) =>
            x.requestBody === undefined || x.upgrade !== undefined
              ? next
              : held(x.readRequestBody(limits.request), "request", limits.request ?? x.bodyLimit)
        })
      if (response !== undefined)
        nodes.push({
          name: "buffer.response",
          phase: "response",
          writes: [],
          run: (x) =>
            x.response === undefined || x.response.status === 101
              ? next
              : held(x.readResponseBody(limits.response), "response", limits.response ?? x.bodyLimit)
        })
      return nodes
    })
})

/** A body that cannot be read counts as one that is too large. */
const held = (
  read: Effect.Effect<Uint8Array, BodyTooLarge | BodyAborted | BuffersFull>,
  side: "request" | "response",
  limit: number
): Effect.Effect<Verdict, BodyTooLarge | BuffersFull> =>
  Effect.flatMapEager(
    Effect.mapErrorEager(read, (error) => (error instanceof BuffersFull ? error : new BodyTooLarge({ side, limit }))),
    () => next
  )
