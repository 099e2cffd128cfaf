/**
 * Bodies by which a request gets past a rule that looks into them, wherever another reader finds what the rule does not: each
 * says what a strict reader finds in it. They are sent to rules of every kind, spelt in every way that might absorb a failure.
 */
import { Buffer } from "node:buffer"
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import { brotliCompressSync, deflateRawSync, deflateSync, gzipSync, zstdCompressSync } from "node:zlib"
import { assert } from "@effect/vitest"
import { Effect, Schema } from "effect"
import * as Arbitrary from "effect/Arbitrary"
import { start } from "../../src/main/library.ts"
import { send } from "../client.ts"
import { attack, type Trial } from "./attack.ts"

export interface BodyVariant {
  readonly name: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: Uint8Array
  /** The command that every reader finds; `undefined` where readers differ, or one of them may fail: such a body never passes. */
  readonly says: "rm" | "ls" | undefined
  /** What a backend gets of it where it passes. */
  readonly content: string
}

const rm = '{"cmd":"rm"}'
const ls = '{"cmd":"ls"}'
const bytes = (text: string) => new Uint8Array(Buffer.from(text, "utf8"))
const latin1 = (text: string) => new Uint8Array(Buffer.from(text, "latin1"))
const utf16le = (text: string) => new Uint8Array(Buffer.from(text, "utf16le"))
const utf16be = (text: string) => new Uint8Array(Buffer.from(text, "utf16le").swap16())
const joined = (...parts: ReadonlyArray<Uint8Array>) => new Uint8Array(Buffer.concat(parts))
const none: Readonly<Record<string, string>> = {}
const coded = (coding: string) => ({ "content-encoding": coding })
const typed = (type: string) => ({ "content-type": type })

/** What no two readers need to agree on. */
const unreadable = (name: string, body: string | Uint8Array, headers = none): BodyVariant => ({
  name,
  headers,
  body: typeof body === "string" ? bytes(body) : body,
  says: undefined,
  content: ""
})

/** What every reader reads alike. */
const readable = (
  name: string,
  says: "rm" | "ls",
  content: string,
  headers = none,
  body: Uint8Array = bytes(content)
): BodyVariant => ({ name, headers, body, says, content })

const codings: ReadonlyArray<readonly [coding: string, encode: (body: Uint8Array) => Uint8Array]> = [
  ["gzip", gzipSync],
  ["x-gzip", gzipSync],
  ["GZIP", gzipSync],
  ["identity, gzip", gzipSync],
  ["deflate", deflateSync],
  ["br", brotliCompressSync],
  ["zstd", zstdCompressSync],
  ["gzip, br", (body) => brotliCompressSync(gzipSync(body))],
  ["deflate,zstd , gzip", (body) => gzipSync(zstdCompressSync(deflateSync(body)))]
]

const nested = (depth: number) => `{"a":${"[".repeat(depth)}${"]".repeat(depth)},"cmd":"ls"}`
const many = (count: number, entry: (index: number) => string) =>
  Array.from({ length: count }, (_, i) => entry(i)).join()

export const bodies: ReadonlyArray<BodyVariant> = [
  // Read alike, however they are written.
  readable("harmless", "ls", ls),
  readable("harmful", "rm", rm),
  readable("a command written with an escape", "rm", '{"cmd":"r\\u006d"}'),
  readable("a name written with an escape", "rm", '{"c\\u006dd":"rm"}'),
  // The engine's parser, once it has met the name with a backslash, takes the escaped one for it.
  readable("a name with a backslash", "ls", '{"c":1,"cm\\\\":1,"cmd":"ls"}'),
  readable("a name with an escape where the backslash was", "rm", '{"c":1,"cm\\u0064":"rm"}'),
  readable("white space", "rm", '\r\n\t {\n"cmd"\t:\r"rm" }\n'),
  readable("a member of that name further inside", "ls", '{"a":{"cmd":"rm"},"cmd":"ls"}'),
  readable("the same name in two objects", "ls", '{"a":{"x":1},"b":{"x":2},"cmd":"ls"}'),
  readable("colons, quotes and escapes in texts", "ls", '{"a":"\\":\\\\","b:":":\\"cmd\\":\\"rm\\"","cmd":"ls"}'),
  readable("a name from the prototype of objects", "ls", '{"__proto__":{"cmd":"rm"},"constructor":1,"cmd":"ls"}'),
  readable("characters beyond the first plane", "ls", '{"a":"\u{1f600}\\ud83d\\ude00","cmd":"ls"}'),
  readable("a number beyond doubles", "ls", '{"a":1e999,"b":123456789012345678901234567890,"cmd":"ls"}'),
  readable("two hundred levels", "ls", nested(200)),
  readable("a charset that is UTF-8", "rm", rm, typed('application/json; charset="UTF-8"')),
  readable("another content type", "rm", rm, typed("text/plain")),
  readable("no content type", "rm", rm, { "content-type": "" }),
  ...codings.flatMap(([coding, encode]) => [
    readable(`harmful in ${coding}`, "rm", rm, coded(coding), encode(bytes(rm))),
    readable(`harmless in ${coding}`, "ls", ls, coded(coding), encode(bytes(ls)))
  ]),
  // Content codings.
  unreadable("a coding that nobody knows", rm, coded("odd")),
  unreadable("a coding of old", rm, coded("compress")),
  unreadable("a coding that is a member of every object", rm, coded("constructor")),
  unreadable("a known coding around one that is not", gzipSync(rm), coded("odd, gzip")),
  unreadable("five codings", gzipSync(gzipSync(gzipSync(gzipSync(gzipSync(rm))))), coded("gzip,gzip,gzip,gzip,gzip")),
  unreadable("plain text that claims a coding", rm, coded("gzip")),
  unreadable("another coding than the one it claims", brotliCompressSync(rm), coded("zstd")),
  unreadable("codings in the wrong order", brotliCompressSync(gzipSync(rm)), coded("br, gzip")),
  unreadable("a coding that nobody was told of", gzipSync(rm)),
  unreadable("deflate without its wrapper", deflateRawSync(rm), coded("deflate")),
  unreadable("a coding that ends early", gzipSync(rm).subarray(0, 20), coded("gzip")),
  unreadable("two members of gzip, the second one harmful", joined(gzipSync(ls), gzipSync(rm)), coded("gzip")),
  unreadable("a bomb", gzipSync(Buffer.alloc(8 * 1024 * 1024, " ")), coded("gzip")),
  unreadable("a bomb in a bomb", gzipSync(gzipSync(Buffer.alloc(64 * 1024 * 1024, " "))), coded("gzip, gzip")),
  unreadable("UTF-16 in gzip", gzipSync(utf16le(rm)), coded("gzip")),
  // Characters.
  unreadable("UTF-16, little end first", utf16le(rm)),
  unreadable("UTF-16, big end first", utf16be(rm)),
  unreadable("UTF-16 with a mark, little end first", utf16le(`\ufeff${rm}`)),
  unreadable("UTF-16 with a mark, big end first", utf16be(`\ufeff${rm}`)),
  unreadable("UTF-32", new Uint8Array(Uint32Array.from(rm, (c) => c.codePointAt(0)!).buffer)),
  unreadable("UTF-8 with a mark", `\ufeff${rm}`),
  unreadable("UTF-7 by its charset", '{"cmd":"+AHIAbQ-"}', typed("application/json; charset=utf-7")),
  unreadable("a charset of mainframes", rm, typed("application/json; charset=ibm037")),
  unreadable("UTF-16 by its charset", utf16le(rm), typed("application/json; charset=utf-16")),
  unreadable("a second charset", rm, typed("application/json; charset=utf-8; charset=utf-16")),
  unreadable("invalid UTF-8 in the command", latin1('{"cmd":"r\xffm"}')),
  unreadable("invalid UTF-8 in the name", latin1('{"c\xffmd":"rm"}')),
  unreadable("invalid UTF-8 elsewhere", latin1('{"a":"\xc3\x28","cmd":"rm"}')),
  unreadable("a character longer than it needs to be", latin1('{"cmd":"\xc1\xb2m"}')),
  unreadable("half of a pair in UTF-8", latin1('{"a":"\xed\xa0\x80","cmd":"rm"}')),
  // What some readers forgive.
  unreadable("NaN", '{"a":NaN,"cmd":"rm"}'),
  unreadable("Infinity", '{"a":Infinity,"cmd":"rm"}'),
  unreadable("minus Infinity", '{"a":-Infinity,"cmd":"rm"}'),
  unreadable("a comma behind the last member", '{"cmd":"rm",}'),
  unreadable("a comma behind the last element", '{"a":[1,],"cmd":"rm"}'),
  unreadable("a comment to the end of the line", '{"cmd":"rm"} // that is all'),
  unreadable("a comment inside", '{"cmd"/**/:"rm"}'),
  unreadable("a comment of shells", '# first\n{"cmd":"rm"}'),
  unreadable("single quotes", "{'cmd':'rm'}"),
  unreadable("a name without quotes", '{cmd:"rm"}'),
  unreadable("a number in hexadecimal", '{"a":0x1,"cmd":"rm"}'),
  unreadable("a number that begins with zero", '{"a":01,"cmd":"rm"}'),
  unreadable("a number with a plus", '{"a":+1,"cmd":"rm"}'),
  unreadable("a number that begins with its point", '{"a":.5,"cmd":"rm"}'),
  unreadable("a number that ends with its point", '{"a":1.,"cmd":"rm"}'),
  unreadable("a line break in a text", '{"a":"\n","cmd":"rm"}'),
  unreadable("a zero in a text", '{"a":"\0","cmd":"rm"}'),
  unreadable("an escape in hexadecimal", '{"cmd":"\\x72m"}'),
  unreadable("an escape that ends early", '{"a":"\\u00","cmd":"rm"}'),
  unreadable("literals of another language", '{"a":True,"b":None,"cmd":"rm"}'),
  unreadable("bytes behind it", `${rm}x`),
  unreadable("a zero behind it", `${rm}\0`),
  unreadable("another text behind it", `${ls}${rm}`),
  unreadable("a text a line", `${ls}\n${rm}\n`),
  unreadable("a guard before it", `)]}',\n${rm}`),
  unreadable("white space that JSON does not have", '\f{"cmd":"rm"}'),
  unreadable("a blank that does not break", '\u00a0{"cmd":"rm"}'),
  unreadable("an end that is missing", '{"cmd":"rm"'),
  unreadable("no byte", ""),
  unreadable("nothing but white space", " \n"),
  unreadable("a form", "cmd=rm", typed("application/x-www-form-urlencoded")),
  unreadable(
    "parts",
    '--b\r\ncontent-disposition: form-data; name="cmd"\r\n\r\nrm\r\n--b--\r\n',
    typed("multipart/form-data; boundary=b")
  ),
  unreadable("XML", "<cmd>rm</cmd>", typed("application/xml")),
  // Names that stand twice.
  unreadable("the harmful one first", '{"cmd":"rm","cmd":"ls"}'),
  unreadable("the harmful one last", '{"cmd":"ls","cmd":"rm"}'),
  unreadable("twice the same", '{"cmd":"ls","cmd":"ls"}'),
  unreadable("one of two names with an escape", '{"cmd":"rm","c\\u006dd":"ls"}'),
  unreadable("twice elsewhere", '{"a":{"x":1,"x":2},"cmd":"ls"}'),
  unreadable("twice in a list", '{"a":[{"x":1},{"x":1,"x":2}],"cmd":"ls"}'),
  unreadable("twice the name of the prototype", '{"__proto__":1,"__proto__":{"cmd":"rm"},"cmd":"ls"}'),
  unreadable("twice the empty name", '{"":1,"":2,"cmd":"ls"}'),
  unreadable("twice a number for a name", '{"1":1,"1":2,"cmd":"ls"}'),
  unreadable("twice beside texts full of colons", '{"a:":":::","cmd":"rm","cmd":"ls"}'),
  // Sizes.
  unreadable("thirty thousand members", `{${many(30_000, (i) => `"m${i}":${i}`)},"cmd":"rm"}`),
  unreadable("a list of a hundred thousand", `{"a":[${many(100_000, String)}],"cmd":"rm"}`),
  unreadable("three hundred levels", nested(300)),
  unreadable("fifty thousand levels", nested(50_000)),
  unreadable("fifty thousand levels that do not end", '{"a":'.repeat(50_000)),
  unreadable("more than the limit", `{"a":"${"x".repeat(2 * 1024 * 1024)}","cmd":"rm"}`)
]

/** Whether the command is harmful, spelt so that many an operator might make up for a failed reading. */
const harmful = 'json(request.body).cmd == "rm"'
export const spellings: ReadonlyArray<string> = [
  harmful,
  `${harmful} || false`,
  `false || ${harmful}`,
  `${harmful} && true`,
  `request.method == "NEVER" || ${harmful} || request.method == "EVER"`,
  `${harmful} || request.headers["content-type"] == "never"`,
  `${harmful} ? true : false`,
  `coalesce(${harmful}, false)`,
  'coalesce(json(request.body).cmd, "none") == "rm"',
  'default(json(request.body).cmd, "none") == "rm"',
  'json(request.body)[?"cmd"].orValue("none") == "rm"',
  'optional.of(json(request.body)).optMap(body, body.cmd).orValue("none") == "rm"',
  `[1, 2].exists(x, ${harmful})`,
  `![1, 2].all(x, !(${harmful}))`,
  `[1].exists_one(x, ${harmful})`,
  `[1].filter(x, ${harmful}) == [1]`,
  'json(request.body).with(body, body.cmd == "rm")',
  'cel.bind(body, json(request.body), body.cmd == "rm")',
  'json(string(request["body"])).cmd == "rm"',
  'jsonField(request.body, "cmd") == "rm"',
  'has(json(request.body).cmd) && json(request.body).cmd == "rm"',
  '{"a": json(request.body).cmd}.a == "rm"',
  '"rm" in [json(request.body).cmd]',
  "isHarmful(json(request.body))",
  `secondOf(json(request.body), ${harmful})`
]

/** How a rule of each kind says it. */
export const kinds: ReadonlyArray<(spelling: string) => string> = [
  (spelling) => `deny: '${spelling}'`,
  (spelling) => `require: '!(${spelling})'`,
  (spelling) => `allow: '!(${spelling})'`
]

const configuration = (backend: number) => `
config:
  customFunctions: |
    isHarmful(body) { body.cmd == "rm" }
    secondOf(first, second) { second }
gateways: { default: { port: 8080 } }
routes:
${spellings
  .flatMap((spelling) => kinds.map((kind) => kind(spelling)))
  .map(
    (rule, index) => `
  - matches: [{ path: { exact: "/${index}" } }]
    policies: { authorization: { rules: [{ ${rule} }] } }
    backends: [{ host: "127.0.0.1:${backend}" }]`
  )
  .join("")}
`

interface Shot extends BodyVariant {
  readonly title: string
  /** Of the rules of the configuration. */
  readonly rule: number
}

/** Every body before a rule of every kind, each in a spelling of its own. */
const shots: ReadonlyArray<Shot> = bodies.flatMap((body, index) =>
  kinds.map((kind, at) => ({
    ...body,
    title: `${body.name}, before ${kind("it").slice(0, kind("it").indexOf(":"))}`,
    rule: ((index * kinds.length + at) % spellings.length) * kinds.length + at
  }))
)

const refusals = new Set([400, 413, 415])

const open = Effect.gen(function* () {
  let got: string | undefined
  const backend = createServer((request, response) => {
    const chunks: Array<Buffer> = []
    request.on("data", (chunk: Buffer) => chunks.push(chunk))
    request.on("end", () => {
      const coding = request.headers["content-encoding"]
      got = `${coding === undefined ? "" : `in ${coding}: `}${Buffer.concat(chunks).toString("utf8")}`
      response.end()
    })
  })
  yield* Effect.promise(() => new Promise<void>((resolve) => backend.listen(0, "127.0.0.1", resolve)))
  yield* Effect.addFinalizer(() => Effect.sync(() => backend.close()))
  const gateway = yield* start(configuration((backend.address() as AddressInfo).port), {
    ephemeral: true,
    host: "127.0.0.1"
  })
  const trial: Trial<Shot> = ({ headers, body, says, content, rule }) =>
    Effect.promise(async () => {
      got = undefined
      const { status } = await send(gateway.port(8080)!, {
        method: "POST",
        path: `/${rule}`,
        headers: { "content-type": "application/json", ...headers },
        body
      })
      if (says === "ls") assert.deepStrictEqual([status, got], [200, content])
      else {
        assert.isUndefined(got, "it was forwarded")
        if (says === "rm") assert.strictEqual(status, 403)
        else assert.include(refusals, status)
      }
    })
  return trial
})

/** What makes a sound text one that readers read differently. */
const twists: Readonly<Record<string, (text: string, name: string) => string | Uint8Array>> = {
  "a name again": (text, name) => `${text.slice(0, -1)},${JSON.stringify(name)}:1}`,
  "a name again, inside": (text) => `{"in":[{"a":1,"b":{},"a":1}],${text.slice(1)}`,
  "a name again, escaped": (text) => `{"\\u0063md":"ls",${text.slice(1)}`,
  "a byte behind": (text) => `${text}]`,
  "a comma too many": (text) => `${text.slice(0, -1)},}`,
  "a mark": (text) => `\ufeff${text}`,
  "an end that is missing": (text) => text.slice(0, -1),
  "two bytes a character": utf16le,
  "a byte that is no character": (text) => joined(bytes(text.slice(0, -2)), latin1('\xff"}'))
}

const Drawn = Schema.Struct({
  members: Schema.Array(
    Schema.Struct({
      name: Schema.Literals(["a", "CMD", "__proto__", "x:y", '"', "\\", "é", ""]),
      value: Schema.Literals([
        "1",
        '"rm"',
        '{"cmd":"rm"}',
        '["\\"cmd\\":\\"rm\\""]',
        "null",
        '"\\\\"',
        "{}",
        '{":":[{},{"cmd":":"}]}'
      ])
    })
  ).check(Schema.isMaxLength(6)),
  says: Schema.Literals(["rm", "ls"]),
  last: Schema.Boolean,
  twist: Schema.NullOr(Schema.Literals(Object.keys(twists))),
  codings: Schema.Array(Schema.Literals([0, 4, 5, 6])).check(Schema.isMaxLength(5)),
  rule: Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: spellings.length * kinds.length - 1 }))
})

const drawn = Arbitrary.map(Arbitrary.schema(Drawn), ({ members, says, last, twist, codings: layers, rule }): Shot => {
  const cmd = `"cmd":"${says}"`
  const others = members.map(
    ({ name, value }, index) => `${JSON.stringify(`${name}${index === 0 ? "" : index}`)}:${value}`
  )
  const content = `{${(last ? [...others, cmd] : [cmd, ...others]).join(",")}}`
  const first = members[0]?.name ?? "cmd"
  const twisted = twist === null ? content : twists[twist]!(content, first)
  const plain = typeof twisted === "string" ? bytes(twisted) : twisted
  const names = layers.map((layer) => codings[layer]![0])
  return {
    name: "drawn",
    title: `${JSON.stringify(content)}, ${twist ?? "as it is"}, in ${names.join(", ") || "no coding"}, before rule ${rule}`,
    headers: names.length === 0 ? none : coded(names.join(", ")),
    body: layers.reduce((body, layer) => codings[layer]![1](body), plain),
    says: twist === null && names.length <= 4 ? says : undefined,
    content,
    rule
  }
})

export const bodiesBeforeRules = attack({
  class: "fail-open",
  name: "bodies before rules",
  proves: "a body that readers read alike is judged by what it says, and nothing else passes a rule of any kind",
  cases: shots,
  generated: { cases: drawn, few: 300, many: 20_000 },
  open
})
