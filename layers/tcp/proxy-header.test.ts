import { assert, describe, it } from "@effect/vitest"
import { dice } from "../../test/attack/messages.ts"
import { drawn, faultOf, signature, told } from "../../test/tcp/proxy-headers.ts"
import { crc32c } from "./crc32c.ts"
import { longestLine } from "./proxy-header.ts"

const text = (line: string) => told(Buffer.from(line, "latin1"))
const second = (command: number, family: number, rest: ReadonlyArray<number>, length = rest.length) =>
  Buffer.concat([signature, Buffer.from([command, family, length >> 8, length & 255, ...rest])])
const four = [192, 0, 2, 1, 198, 51, 100, 2, 0x1f, 0x90, 0, 80]

describe("the header of a balancer", () => {
  it("is a line of version 1", () => {
    assert.strictEqual(text("PROXY TCP4 192.0.2.1 198.51.100.2 8080 80\r\nGET /"), "43 192.0.2.1 8080")
    assert.strictEqual(text("PROXY TCP6 2001:DB8::1 ::1 8080 80\r\n"), "36 2001:db8::1 8080")
    assert.strictEqual(text("PROXY TCP6 ::ffff:192.0.2.1 ::1 1 0\r\n"), "37 192.0.2.1 1")
    assert.strictEqual(text("PROXY UNKNOWN\r\n"), "15 nobody")
    assert.strictEqual(text("PROXY UNKNOWN whatever it says\r\n"), "32 nobody")
    for (const wrong of [
      "PROXY TCP4 192.0.2.1 198.51.100.2 8080 80 \r\n",
      "PROXY  TCP4 192.0.2.1 198.51.100.2 8080 80\r\n",
      "PROXY TCP4 192.0.2.01 198.51.100.2 8080 80\r\n",
      "PROXY TCP4 192.0.2.1 198.51.100.2 08080 80\r\n",
      "PROXY TCP4 192.0.2.1 198.51.100.2 65536 80\r\n",
      "PROXY TCP4 ::1 ::1 1 2\r\n",
      "PROXY TCP6 fe80::1%lo ::1 1 2\r\n",
      "PROXY tcp4 192.0.2.1 198.51.100.2 8080 80\r\n",
      `PROXY UNKNOWN ${"x".repeat(longestLine)}\r\n`,
      `PROXY TCP4 ${"1".repeat(longestLine)}`
    ])
      assert.strictEqual(text(wrong), "malformed", wrong)
    assert.strictEqual(text("PROXY TCP4 192.0.2.1 198.51.100.2 8080 80\n"), "unfinished")
    for (const other of ["GET / HTTP/1.1\r\n", "\x16\x03\x01", "PROXYTCP4", "\r\n\r\nGET"])
      assert.strictEqual(text(other), "absent", other)
  })

  it("is bytes of version 2, with whatever else the balancer has to say", () => {
    assert.strictEqual(told(second(0x21, 0x11, four)), "28 192.0.2.1 8080")
    assert.strictEqual(told(second(0x21, 0x11, [...four, 0x04, 0, 1, 9])), "32 192.0.2.1 8080")
    assert.strictEqual(told(second(0x20, 0x11, four)), "28 nobody")
    assert.strictEqual(told(second(0x20, 0x00, [])), "16 nobody")
    assert.strictEqual(told(second(0x21, 0x00, [])), "16 nobody")
    assert.strictEqual(told(second(0x21, 0x31, Array(216).fill(0))), "232 nobody")
    for (const wrong of [
      second(0x11, 0x11, four),
      second(0x22, 0x11, four),
      second(0x21, 0x12, four),
      second(0x21, 0x11, four.slice(1)),
      second(0x21, 0x11, [...four, 4, 0]),
      second(0x21, 0x11, [...four, 4, 0, 2, 9]),
      second(0x21, 0x11, four, 513)
    ])
      assert.strictEqual(told(wrong), "malformed", wrong.toString("hex"))
  })

  it("may carry its checksum, which is verified", () => {
    assert.strictEqual(crc32c(Buffer.from("123456789")), 0xe3069283)
    const whole = second(0x21, 0x11, [...four, 3, 0, 4, 0, 0, 0, 0])
    assert.strictEqual(told(whole), "malformed")
    whole.writeUInt32BE(crc32c(whole), whole.length - 4)
    assert.strictEqual(told(whole), "35 192.0.2.1 8080")
    whole[17]! ^= 1
    assert.strictEqual(told(whole), "malformed")
  })

  it("is read as another reader reads it, however many packets it comes in", () => {
    const { below } = dice(7)
    const seen = new Map<string, number>()
    for (let each = 0; each < 20_000; each++) {
      const bytes = drawn(below)
      assert.isUndefined(faultOf(bytes), bytes.toString("hex"))
      const found = told(bytes)
      const kind = /^\d/.test(found) ? (found.endsWith("nobody") ? "nobody" : "somebody") : found
      seen.set(kind, (seen.get(kind) ?? 0) + 1)
    }
    for (const kind of ["somebody", "nobody", "malformed", "unfinished", "absent"])
      assert.isAbove(seen.get(kind) ?? 0, 200, kind)
  })
})
