/** Single HTTP calls through undici, with connections of their own beside those of the data plane. */
import { Effect, Layer } from "effect"
import type { Agent } from "undici"
import { responseHeaders } from "../../src/http/framing.ts"
import { type Fetched, FetchFailed, type FetchRequest, HttpFetch } from "../../src/services/http-fetch.ts"

const defaultTimeout = 10_000
const defaultMaxBytes = 1024 * 1024

const fetchThrough =
  (connections: () => Promise<Agent>) =>
  ({ method, url, headers, body, timeout = defaultTimeout, maxBytes = defaultMaxBytes }: FetchRequest) =>
    Effect.tryPromise({
      try: async (interrupted): Promise<Fetched> => {
        const { origin, pathname, search } = new URL(url)
        const agent = await connections()
        const answer = await agent.request({
          origin,
          path: pathname + search,
          method,
          headers: headers?.flat ?? [],
          body: body ?? null,
          signal: AbortSignal.any([interrupted, AbortSignal.timeout(timeout)])
        })
        const chunks: Array<Uint8Array> = []
        let size = 0
        for await (const chunk of answer.body) {
          size += chunk.length
          if (size > maxBytes) throw new Error(`the answer has more than ${maxBytes} bytes`)
          chunks.push(chunk)
        }
        return { status: answer.statusCode, headers: responseHeaders(answer.headers), body: Buffer.concat(chunks) }
      },
      catch: (cause) => new FetchFailed({ url, detail: detailOf(cause, timeout) })
    })

const detailOf = (cause: unknown, timeout: number): string => {
  if (!(cause instanceof Error)) return String(cause)
  if (cause.name === "TimeoutError") return `no whole answer within ${timeout} ms`
  return "code" in cause && cause.message === "" ? String(cause.code) : cause.message
}

/** Undici is loaded with the first call: most configurations cause none. */
const agentWhenUsed = () => {
  let made: Promise<Agent> | undefined
  const make = async () => {
    const { Agent } = await import("undici")
    return new Agent({ keepAliveTimeout: 30_000, connect: { timeout: defaultTimeout } })
  }
  return {
    agent: () => (made ??= make()),
    destroy: async () => (await made)?.destroy()
  }
}

export const layer: Layer.Layer<HttpFetch> = Layer.effect(
  HttpFetch,
  Effect.map(
    Effect.acquireRelease(Effect.sync(agentWhenUsed), ({ destroy }) => Effect.promise(destroy)),
    ({ agent }) => ({ fetch: fetchThrough(agent) })
  )
)
