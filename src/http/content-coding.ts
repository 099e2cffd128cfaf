/** Bodies that are sent compressed, read as what they say. Whoever reads one limits what comes out, not what goes in. */
import { createBrotliDecompress, createGunzip, createInflate, createZstdDecompress, type Gunzip } from "node:zlib"
import { type Container, contained, nobody } from "../services/contained.ts"
import { type Body, BodyAborted, type BodySink, isSource, PassingBody } from "./body.ts"

/** A content coding that can be undone. */
export type ContentCoding = "gzip" | "deflate" | "br" | "zstd"

/** More codings than that, one inside the other, nobody has a reason to send. */
const maxCodings = 4

const none: ReadonlyArray<ContentCoding> = []

/**
 * The codings that the lines of a `content-encoding` header name, in the order in which they were applied (RFC 9110 8.4); none
 * for a body that is sent as it is. One that is not known makes all of them unknown.
 */
export const contentCodings = (lines: ReadonlyArray<string>): ReadonlyArray<ContentCoding> | "unknown" => {
  if (lines.length === 0) return none
  const codings: Array<ContentCoding> = []
  for (const part of lines.join(",").split(",")) {
    const name = part.trim().toLowerCase()
    if (name === "" || name === "identity") continue
    if (name !== "x-gzip" && !Object.hasOwn(decoders, name)) return "unknown"
    codings.push(name === "x-gzip" ? "gzip" : (name as ContentCoding))
  }
  return codings.length > maxCodings ? "unknown" : codings
}

const decoders = {
  gzip: createGunzip,
  deflate: createInflate,
  br: createBrotliDecompress,
  zstd: createZstdDecompress
} as const satisfies { readonly [C in ContentCoding]: () => unknown }

/** The codings that can be undone, as a header lists them. */
export const contentCodingNames = Object.keys(decoders).join(", ")

/** The body without its codings, the last one first. What is not of a coding fails with `BodyAborted`. */
export const decoded = (body: Body, codings: ReadonlyArray<ContentCoding>, side: "client" | "backend"): Body =>
  body === undefined || (!isSource(body) && body.length === 0)
    ? body
    : codings.reduceRight<Exclude<Body, undefined>>((encoded, coding) => new DecodedBody(encoded, coding, side), body)

/** What is read is not of its coding. */
export const undecodable = (side: "client" | "backend"): BodyAborted =>
  new BodyAborted({ source: side, detail: notOfIt })
const notOfIt = "its content cannot be decoded"

/** Whether that is why a body ended. */
export const isUndecodable = ({ detail }: BodyAborted): boolean => detail === notOfIt

class DecodedBody extends PassingBody implements Container {
  readonly #side: "client" | "backend"
  // All decoders are transform streams; their classes differ in name alone.
  readonly #decoder: Pick<Gunzip, "on" | "write" | "end" | "pause" | "resume" | "destroy">
  #over = false

  constructor(encoded: Exclude<Body, undefined>, coding: ContentCoding, side: "client" | "backend") {
    super(encoded)
    this.#side = side
    this.#decoder = decoders[coding]()
  }

  override start(sink: BodySink): void {
    const data = contained(this, (chunk: Uint8Array) => {
      if (!this.#over && !sink.data(chunk)) this.#decoder.pause()
    })
    const end = contained(this, () => {
      if (this.#over) return
      this.#over = true
      sink.end()
    })
    const broken = contained(this, () => this.#break(undecodable(this.#side)))
    const drained = contained(this, () => super.resume())
    this.#decoder.on("data", data)
    this.#decoder.on("end", end)
    this.#decoder.on("error", broken)
    this.#decoder.on("drain", drained)
    super.start(sink)
  }
  /** Whoever reads it threw, within a callback of the decoder. */
  contain(cause: unknown): void {
    nobody.contain(cause)
    this.#break(new BodyAborted({ source: this.#side, detail: "its reader failed" }))
  }
  #break(error: BodyAborted): void {
    super.cancel()
    this.fail(error)
  }
  override resume(): void {
    if (!this.#over) this.#decoder.resume()
  }
  override cancel(): void {
    this.#over = true
    this.#decoder.destroy()
    super.cancel()
  }

  data(chunk: Uint8Array): boolean {
    return this.#over || this.#decoder.write(chunk)
  }
  override end(): void {
    if (!this.#over) this.#decoder.end()
  }
  override fail(error: BodyAborted): void {
    if (this.#over) return
    this.#over = true
    this.#decoder.destroy()
    this.sink?.fail(error)
  }
}
