/** A provider, or a webhook, whose every answer the test writes itself; it keeps what it was asked. */
import { createServer, type IncomingMessage, type ServerResponse } from "node:http"

export interface Asked {
  readonly method: string
  readonly path: string
  readonly headers: IncomingMessage["headers"]
  readonly bytes: Buffer
  /** The bytes as text. */
  readonly body: string
  /** Whether the caller hung up before the answer was over. */
  hungUp: boolean
}

export interface Provider {
  readonly url: string
  readonly port: number
  readonly asked: ReadonlyArray<Asked>
  readonly stop: () => Promise<void>
}

export type Answering = (asked: Asked, response: ServerResponse) => void | Promise<void>

export const startProvider = async (answering: Answering): Promise<Provider> => {
  const asked: Array<Asked> = []
  const server = createServer(async (request, response) => {
    const chunks: Array<Buffer> = []
    for await (const chunk of request) chunks.push(chunk as Buffer)
    const bytes = Buffer.concat(chunks)
    const one: Asked = {
      method: request.method ?? "",
      path: request.url ?? "",
      headers: request.headers,
      bytes,
      body: bytes.toString("utf8"),
      hungUp: false
    }
    asked.push(one)
    response.on("close", () => {
      one.hungUp = !response.writableFinished
    })
    await answering(one, response)
  })
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
  const { port } = server.address() as { port: number }
  return {
    port,
    url: `http://127.0.0.1:${port}`,
    asked,
    stop: () =>
      new Promise<void>((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      })
  }
}

/** Answers with JSON. */
export const json = (response: ServerResponse, body: unknown, status = 200): void => {
  response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body))
}

const sleep = (millis: number) => new Promise<void>((resolve) => setTimeout(resolve, millis))

/** Sends events one after the other, until somebody hangs up. */
export const events = async (
  response: ServerResponse,
  list: ReadonlyArray<unknown>,
  pause = 0,
  headers: Readonly<Record<string, string>> = {}
): Promise<void> => {
  response.writeHead(200, { "content-type": "text/event-stream", ...headers })
  for (const event of list) {
    if (response.destroyed) return
    response.write(`data: ${typeof event === "string" ? event : JSON.stringify(event)}\n\n`)
    if (pause > 0) await sleep(pause)
  }
  response.end()
}

/** The chunks of a chat completion, with usage at the end for those who ask for it. */
export const chunks = (words: number, usage: object | undefined, model = "m-1"): ReadonlyArray<unknown> => {
  const chunk = (delta: object, finish: string | null = null) => ({
    id: "c",
    object: "chat.completion.chunk",
    created: 1,
    model,
    choices: [{ index: 0, delta, finish_reason: finish }]
  })
  return [
    chunk({ role: "assistant", content: "" }),
    ...Array.from({ length: words }, (_, i) => chunk({ content: `w${i} ` })),
    chunk({}, "stop"),
    ...(usage === undefined
      ? []
      : [{ id: "c", object: "chat.completion.chunk", created: 1, model, choices: [], usage }]),
    "[DONE]"
  ]
}

/** A chat completion. */
export const completion = (content: string, usage: object, model = "m-1") => ({
  id: "c",
  object: "chat.completion",
  created: 1,
  model,
  choices: [
    { index: 0, message: { role: "assistant", content, refusal: null }, logprobs: null, finish_reason: "stop" }
  ],
  usage
})
