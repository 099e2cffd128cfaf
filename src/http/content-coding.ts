/** Bodies that are sent compressed, read as what they say. Whoever reads one limits what comes out, not what goes in. */
import { createBrotliDecompress, createGunzip, createInflate, createZstdDecompress, type Gunzip } from "node:zlib"
import { type Body, BodyAborted, type BodySink, type BodySource, isSource } from "./body.ts"

/** A content coding that can be undone. */
export type ContentCoding = "gzip" | "deflate" | "br" | "zstd"

/** The coding that a `content-encoding` header names; `undefined` for a body that is sent as it is. */
export const contentCoding = (header: string | undefined): ContentCoding | "unknown" | undefined => {
  const name = header?.trim().toLowerCase()
  switch (name) {
    case undefined:
    case "":
    case "identity":
      return undefined
    case "x-gzip":
      return "gzip"
    case "gzip":
    case "deflate":
    case "br":
    case "zstd":
      return name
    default:
      return "unknown"
  }
}

const decoders = {
  gzip: createGunzip,
  deflate: createInflate,
  br: createBrotliDecompress,
  zstd: createZstdDecompress
} as const satisfies { readonly [C in ContentCoding]: () => unknown }

/** The body without its coding. What is not of that coding fails with `BodyAborted`. */
export const decoded = (body: Body, coding: ContentCoding, side: "client" | "backend"): Body =>
  body === undefined || (!isSource(body) && body.length === 0) ? body : new DecodedBody(body, coding, side)

class DecodedBody implements BodySource, BodySink {
  readonly #encoded: Exclude<Body, undefined>
  readonly #side: "client" | "backend"
  // All decoders are transform streams; their classes differ in name alone.
  readonly #decoder: Pick<Gunzip, "on" | "write" | "end" | "pause" | "resume" | "destroy">
  #sink: BodySink | undefined
  #over = false

  constructor(encoded: Exclude<Body, undefined>, coding: ContentCoding, side: "client" | "backend") {
    this.#encoded = encoded
    this.#side = side
    this.#decoder = decoders[coding]()
  }

  start(sink: BodySink): void {
    this.#sink = sink
    const encoded = this.#encoded
    this.#decoder.on("data", (chunk: Uint8Array) => {
      if (!this.#over && !sink.data(chunk)) this.#decoder.pause()
    })
    this.#decoder.on("end", () => {
      if (this.#over) return
      this.#over = true
      sink.end()
    })
    this.#decoder.on("error", () => {
      if (isSource(encoded)) encoded.cancel()
      this.fail(new BodyAborted({ source: this.#side, detail: "its content cannot be decoded" }))
    })
    if (isSource(encoded)) {
      this.#decoder.on("drain", () => encoded.resume())
      encoded.start(this)
    } else this.#decoder.end(encoded)
  }
  resume(): void {
    if (!this.#over) this.#decoder.resume()
  }
  cancel(): void {
    this.#over = true
    this.#decoder.destroy()
    if (isSource(this.#encoded)) this.#encoded.cancel()
  }

  data(chunk: Uint8Array): boolean {
    return this.#over || this.#decoder.write(chunk)
  }
  end(): void {
    if (!this.#over) this.#decoder.end()
  }
  fail(error: BodyAborted): void {
    if (this.#over) return
    this.#over = true
    this.#decoder.destroy()
    this.#sink?.fail(error)
  }
}
