/** A backend that tells what it was sent. */
import type { IncomingMessage } from "node:http"
import { Schema } from "effect"
import { httpBackend } from "./edge.ts"

/** The whole body of a request, as a backend receives it. */
export const whole = async (request: IncomingMessage): Promise<Buffer> => {
  const chunks: Array<Buffer> = []
  for await (const chunk of request) chunks.push(chunk as Buffer)
  return Buffer.concat(chunks)
}

export const mirror = httpBackend(async (request, response) => {
  const body = await whole(request)
  response.setHeader("content-type", "application/json")
  response.end(
    JSON.stringify({
      method: request.method,
      url: request.url,
      headers: request.rawHeaders,
      body: body.toString("latin1")
    })
  )
})

const Mirrored = Schema.fromJsonString(
  Schema.Struct({
    method: Schema.String,
    url: Schema.String,
    headers: Schema.Array(Schema.String),
    body: Schema.String
  })
)
/** What it told. */
export const mirrored = (body: Buffer) => Schema.decodeUnknownSync(Mirrored)(body.toString())
