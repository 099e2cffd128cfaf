import { isIP } from "node:net"
import { assert, it } from "@effect/vitest"
import { Schema } from "effect"
import { familyOf } from "./ip.ts"

const piece = Schema.Literals([
  "0",
  "1",
  "01",
  "127",
  "255",
  "256",
  "ffff",
  "FE80",
  "12345",
  "g",
  ".",
  ":",
  "::",
  "%",
  "lo0",
  " ",
  "\0"
])

it.prop(
  "an address is of the family that node finds",
  { pieces: Schema.Array(piece).check(Schema.isMaxLength(12)) },
  ({ pieces }) => assert.strictEqual(familyOf(pieces.join("")), isIP(pieces.join("")), pieces.join("")),
  { arbitrary: { runs: 2000 } }
)

it.each([
  "127.0.0.1",
  "0.0.0.0",
  "255.255.255.255",
  "1.2.3",
  "::",
  "::1",
  "fe80::1%lo0",
  "::ffff:192.0.2.1",
  "::\0",
  "::1\0zone",
  "::\0\0ff:192.0.2.9",
  "1:2:3:4:5:6:7:8",
  "1:2:3:4:5:6:7::",
  "2001:db8::1",
  "localhost",
  "a.example",
  ""
])("an address is of the family that node finds: %j", (text) => assert.strictEqual(familyOf(text), isIP(text)))
