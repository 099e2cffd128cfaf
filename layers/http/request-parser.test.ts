/** The limits of a request, and where the reading of one stops. How it is read is held against llhttp in `test/attack`. */
import { assert, describe, it } from "@effect/vitest"
import { type RequestFault, type RequestFraming, RequestParser } from "./request-parser.ts"

const most = 65_536

/** Reads a text in pieces of some size, as a request whose body is delimited so. */
const reading = (text: string, framing: RequestFraming, size = text.length) => {
  const parser = new RequestParser(most)
  const bytes = Buffer.from(text, "latin1")
  let body = ""
  for (let from = 0; from < bytes.length; from += size) {
    const piece = bytes.subarray(from, from + size)
    for (let at = 0; at < piece.length; at = parser.consumed) {
      const fault = parser.feed(piece, at, piece.length)
      if (fault !== undefined) return { parser, body, ended: false, fault }
      if (parser.head !== undefined) {
        parser.expect(framing)
        if (framing === undefined) return { parser, body, ended: true, fault: undefined }
      }
      if (parser.body !== undefined) body += parser.body.toString("latin1")
      if (parser.ended) return { parser, body, ended: true, fault: undefined }
    }
  }
  return { parser, body, ended: false, fault: undefined }
}

const line = "POST / HTTP/1.1\r\n"

describe("limits", () => {
  const head = (length: number) => `${line}x: ${"x".repeat(length - line.length - 7)}\r\n\r\n`
  const limits: ReadonlyArray<readonly [string, RequestFraming, within: string, beyond: string, fault: RequestFault]> =
    [
      ["64 KiB of a head", undefined, head(most), head(most + 1), "head too long"],
      [
        "16 KiB of an extension",
        "chunked",
        `${line}\r\n1;${"x".repeat(16_384)}\r\nx\r\n0\r\n\r\n`,
        `${line}\r\n1;${"x".repeat(16_385)}\r\nx\r\n0\r\n\r\n`,
        "chunk extensions too long"
      ],
      [
        "64 KiB of trailers",
        "chunked",
        `${line}\r\n0\r\nx: ${"x".repeat(most - 9)}\r\n\r\n`,
        `${line}\r\n0\r\nx: ${"x".repeat(most - 8)}\r\n\r\n`,
        "head too long"
      ],
      [
        "twelve digits of a size",
        "chunked",
        `${line}\r\n000000000001\r\nx\r\n0\r\n\r\n`,
        `${line}\r\n0000000000001\r\nx\r\n0\r\n\r\n`,
        "chunk size"
      ]
    ]
  for (const size of [Number.POSITIVE_INFINITY, 1, 1000])
    it.each(limits)(`%s, and no more (in pieces of ${size})`, (_, framing, within, beyond, fault) => {
      assert.deepInclude(reading(within, framing, Math.min(size, within.length)), { ended: true, fault: undefined })
      assert.deepInclude(reading(beyond, framing, Math.min(size, beyond.length)), { ended: false, fault })
    })

  it("nobody waits for the end of what is no request", () => {
    for (const [text, fault] of [
      ["nonsense", "method"],
      ["G\xc4T", "method"],
      ["A".repeat(33), "method"],
      [" GET", "method"],
      ["GET / HTTP/1.1\r\nX: \0", "control character"],
      ["\r\rGET", "line break"]
    ] as const)
      assert.deepInclude(reading(text, undefined), { ended: false, fault }, JSON.stringify(text))
    for (const text of ["GET", "A".repeat(32), "GET /", "\r\n\r", "DESCRIBE "])
      assert.deepInclude(reading(text, undefined), { ended: false, fault: undefined }, text)
  })
})

describe("what a client can make of it", () => {
  it("blanks within a value cost no more than letters", () => {
    const time = (filling: string) => {
      const bytes = Buffer.from(`${line}x: a${filling.repeat(65_000)}b \r\n\r\n`)
      const start = performance.now()
      for (let i = 0; i < 10; i++) assert.isUndefined(new RequestParser(most).feed(bytes, 0, bytes.length))
      return performance.now() - start
    }
    time("x")
    // The square of their number would take minutes.
    assert.isBelow(time(" "), 20 * time("x") + 1_000)
  })

  it("a body holds about as much memory as it has bytes, whatever frames it", () => {
    const parser = new RequestParser(most)
    const head = Buffer.from(`${line}\r\n`)
    assert.isUndefined(parser.feed(head, 0, head.length))
    parser.expect("chunked")
    const piece = Buffer.from(`1;${"x".repeat(16_000)}\r\na\r\n`.repeat(4))
    const kept: Array<Buffer> = []
    for (let i = 0; i < 200; i++) {
      assert.isUndefined(parser.feed(piece, 0, piece.length))
      kept.push(parser.body!)
    }
    assert.strictEqual(Buffer.concat(kept).length, 800)
    const memories = new Set(kept.map(({ buffer }) => buffer))
    assert.isBelow(
      [...memories].reduce((sum, { byteLength }) => sum + byteLength, 0),
      1 << 20
    )
  })
})

describe("a piece with several requests", () => {
  it("is read up to the end of each head and of each body", () => {
    const bytes = Buffer.from(
      `\r\n${line}A: 1\r\n\r\nabc${line}\r\n2\r\nde\r\n0\r\nX-T: t\r\n\r\nGET /x HTTP/1.0\r\n\r\nGE`
    )
    const parser = new RequestParser(most)
    const framings: Array<RequestFraming> = [3, "chunked", undefined]
    const seen: Array<unknown> = []
    for (let at = 0; at < bytes.length; at = parser.consumed) {
      assert.isUndefined(parser.feed(bytes, at, bytes.length))
      const { head, body, ended, trailers } = parser
      if (head !== undefined) {
        seen.push([head.method, head.target, head.version, ...head.raw])
        parser.expect(framings.shift())
      } else if (ended) seen.push([body?.toString(), ...(trailers?.flat ?? [])])
    }
    assert.deepStrictEqual(seen, [
      ["POST", "/", "1.1", "a", "1"],
      ["abc"],
      ["POST", "/", "1.1"],
      ["de", "x-t", "t"],
      ["GET", "/x", "1.0"]
    ])
    assert.isTrue(parser.begun)
  })

  it("empty lines before a request begin none", () => {
    const parser = new RequestParser(most)
    const bytes = Buffer.from("\r\n\r\n\r")
    assert.isUndefined(parser.feed(bytes, 0, bytes.length))
    assert.isFalse(parser.begun)
  })
})
