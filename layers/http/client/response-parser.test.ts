/** The limits of a response, and what it says of its connection. How it is read is held against llhttp in `test/attack`. */
import { assert, describe, it } from "@effect/vitest"
import { ResponseParser } from "./response-parser.ts"

/** Reads a text, whole or in pieces of some size, as the answer to GET unless something else is said. */
const reading = (text: string, { size = text.length, bodiless = false, upgrading = false } = {}) => {
  const parser = new ResponseParser()
  parser.begin(bodiless, upgrading)
  const bytes = Buffer.from(text, "latin1")
  let ended = false
  let fault: string | undefined
  for (let at = 0; at < bytes.length && fault === undefined && !ended; at += size) {
    const piece = bytes.subarray(at, at + size)
    const refused = parser.feed(piece, piece.length)
    if (refused !== undefined) fault = refused._tag === "MalformedResponse" ? refused.fault : refused._tag
    ended = parser.ended
  }
  return { parser, ended, fault }
}
const ok = "HTTP/1.1 200 OK\r\n"
const empty = "content-length: 0\r\n\r\n"
const chunked = `${ok}transfer-encoding: chunked\r\n\r\n`

describe("limits", () => {
  const head = (length: number) => `${ok}x: ${"x".repeat(length - ok.length - 5 - empty.length)}\r\n${empty}`
  const limits: ReadonlyArray<readonly [what: string, within: string, beyond: string, fault: string]> = [
    ["64 KiB of a head", head(65_536), head(65_537), "head too long"],
    [
      "1,000 lines",
      `${ok}${"x: y\r\n".repeat(999)}${empty}`,
      `${ok}${"x: y\r\n".repeat(1000)}${empty}`,
      "too many lines"
    ],
    [
      "1,000 interim responses",
      `${"HTTP/1.1 102 X\r\n\r\n".repeat(1000)}${ok}${empty}`,
      `${"HTTP/1.1 102 X\r\n\r\n".repeat(1001)}${ok}${empty}`,
      "too many interim responses"
    ],
    [
      "128 KiB of an extension",
      `${chunked}1;${"x".repeat(131_072)}\r\nx\r\n0\r\n\r\n`,
      `${chunked}1;${"x".repeat(131_073)}\r\nx\r\n0\r\n\r\n`,
      "chunk extensions too long"
    ],
    [
      "64 KiB of trailers",
      `${chunked}0\r\nx: ${"x".repeat(65_536 - 9)}\r\n\r\n`,
      `${chunked}0\r\nx: ${"x".repeat(65_536 - 8)}\r\n\r\n`,
      "head too long"
    ]
  ]
  for (const size of [Number.POSITIVE_INFINITY, 1, 1000])
    it.each(limits)(`%s, and no more (in pieces of ${size})`, (_, within, beyond, fault) => {
      const least = Math.min(size, within.length)
      assert.deepInclude(reading(within, { size: least }), { ended: true, fault: undefined })
      assert.deepInclude(reading(beyond, { size: Math.min(size, beyond.length) }), { ended: false, fault })
    })

  it("lengths and sizes are numbers that are counted exactly", () => {
    assert.isUndefined(reading(`${ok}content-length: 999999999999999\r\n\r\n`).fault)
    assert.strictEqual(reading(`${ok}content-length: 1000000000000000\r\n\r\n`).fault, "content-length")
    assert.isUndefined(reading(`${chunked}ffffffffffff\r\n`).fault)
    assert.strictEqual(reading(`${chunked}1000000000000\r\n`).fault, "chunk size")
  })

  it("an interim response ends nothing, and HTTP/1.0 has none", () => {
    const final = `${ok}content-length: 0\r\n\r\n`
    assert.strictEqual(reading(`HTTP/1.0 103 X\r\n\r\n${final}`).fault, "interim response in HTTP/1.0")
    assert.strictEqual(
      reading(`HTTP/1.1 103 X\r\nconnection: close\r\n\r\n${final}`).fault,
      "interim response that closes"
    )
    assert.isUndefined(reading(`HTTP/1.1 103 X\r\nconnection: keep-alive\r\n\r\n${final}`).fault)
  })

  it("nobody waits for the end of what is no response", () => {
    for (const text of ["S", "HTTP/2", "\r\n", "http/1.1"]) assert.strictEqual(reading(text).fault, "status line", text)
    assert.strictEqual(reading(`${ok}a\n`).fault, "line break")
    for (const text of ["", "H", "HTTP/1.1 200 OK\r", ok]) assert.isUndefined(reading(text).fault, text)
  })
})

describe("what a response says of its connection", () => {
  const cases: ReadonlyArray<readonly [says: string, text: string, persistent: boolean, bodiless: boolean]> = [
    ["nothing", `${ok}${empty}`, true, false],
    ["close", `${ok}connection: Close\r\n${empty}`, false, false],
    ["close among others", `${ok}connection: x, close\r\nconnection: y\r\n${empty}`, false, false],
    ["keep-alive", `${ok}connection: Keep-Alive\r\n${empty}`, true, false],
    ["HTTP/1.0", `HTTP/1.0 200 OK\r\nconnection: keep-alive\r\n${empty}`, false, false],
    ["204", "HTTP/1.1 204 X\r\n\r\n", true, false],
    ["204 with a length", "HTTP/1.1 204 X\r\ncontent-length: 1\r\n\r\n", false, false],
    ["304 with a length of nothing", `HTTP/1.1 304 X\r\n${empty}`, true, false],
    ["304 with a length", "HTTP/1.1 304 X\r\ncontent-length: 1\r\n\r\n", false, false],
    ["HEAD", `${ok}\r\n`, true, true],
    ["HEAD with a length", `${ok}content-length: 1\r\n\r\n`, false, true],
    ["HEAD with chunks", chunked, false, true]
  ]
  it.each(cases)("%s", (_, text, persistent, bodiless) => {
    const { parser, ended } = reading(text, { bodiless })
    assert.deepStrictEqual([ended, parser.persistent, parser.consumed], [true, persistent, text.length])
  })

  it("where it ends, and that more came", () => {
    const { parser } = reading(`${ok}${empty}HTTP`)
    assert.deepStrictEqual([parser.ended, parser.consumed], [true, ok.length + empty.length])
  })

  it("its time", () => {
    for (const [line, seconds] of [
      ["timeout=5", 5],
      ["max=3, Timeout = 7 ", 7],
      ["timeout=x", undefined],
      ["xtimeout=5", undefined]
    ] as const)
      assert.strictEqual(reading(`${ok}keep-alive: ${line}\r\n${empty}`).parser.keepAlive, seconds)
    assert.isUndefined(reading(`${ok}${empty}`).parser.keepAlive)
  })

  it("that it has left HTTP, if it was asked to", () => {
    const switching = "HTTP/1.1 101 X\r\nupgrade: a\r\nupgrade: b\r\n\r\n"
    const { parser, fault } = reading(`${switching}bytes`, { upgrading: true })
    assert.deepStrictEqual([fault, parser.head?.upgrade, parser.consumed], [undefined, "a, b", switching.length])
    assert.strictEqual(reading(switching).fault, "101 that nobody asked for")
  })
})
