import { assert, describe, it } from "@effect/vitest"
import { Arbitrary, Schema } from "effect"
import { HeaderList } from "../../../src/http/header-list.ts"
import { trailerLines } from "../trailers.ts"
import { UnsendableRequest } from "./failures.ts"
import { type RequestLines, requestHead } from "./request-head.ts"

const lines = (changes: Partial<RequestLines> = {}): RequestLines => ({
  method: "GET",
  pathAndQuery: "/",
  authority: "a",
  headers: new HeaderList(),
  upgrade: undefined,
  ...changes
})

/** Texts of every kind of character that matters: those of which one byte is a line break among them. */
const text = Arbitrary.map(
  Arbitrary.array(
    Arbitrary.schema(
      Schema.Literals([
        "a",
        "Z",
        "0",
        "-",
        "_",
        ":",
        " ",
        "\t",
        "\r",
        "\n",
        "\0",
        "\x7f",
        "\x80",
        "\xff",
        "\u010d",
        "\u010a",
        "€",
        "\ud800"
      ])
    ),
    { maxLength: 6 }
  ),
  (characters) => characters.join("")
)

describe("the head of a request", () => {
  it("is one line for each header, and its bytes are its characters", () => {
    const headers = new HeaderList(["x-a", "1", "cookie", "a=\xff", "x-a", ""])
    assert.strictEqual(
      requestHead(lines({ headers }), 3),
      "GET / HTTP/1.1\r\nhost: a\r\nconnection: keep-alive\r\nx-a: 1\r\ncookie: a=\xff\r\nx-a: \r\ncontent-length: 3\r\n\r\n"
    )
  })

  it("asks OPTIONS of a server as a whole", () => {
    assert.strictEqual(
      requestHead(lines({ method: "OPTIONS", pathAndQuery: "*" }), "none"),
      "OPTIONS * HTTP/1.1\r\nhost: a\r\nconnection: keep-alive\r\n\r\n"
    )
  })

  it.prop(
    "holds what was given and nothing more, or is refused",
    [text, text, text, text, text],
    ([method, pathAndQuery, authority, name, value]) => {
      for (const changes of [
        { method },
        { pathAndQuery: `/${pathAndQuery}` },
        { authority },
        { upgrade: value },
        { headers: new HeaderList([name.toLowerCase(), value]) },
        { headers: new HeaderList(["x-a", value, "x-b", "1"]) }
      ]) {
        const given = lines(changes)
        const head = requestHead(given, "chunked")
        if (head instanceof UnsendableRequest) continue
        const bytes = Buffer.from(head, "latin1").toString("latin1")
        assert.strictEqual(bytes, head)
        const [first, ...rest] = bytes.split("\r\n")
        assert.strictEqual(first, `${given.method} ${given.pathAndQuery} HTTP/1.1`)
        assert.deepStrictEqual(rest.slice(-2), ["", ""])
        assert.strictEqual(rest[0], `host: ${given.authority}`)
        assert.isTrue(
          rest.slice(0, -2).every((line) => /^[!#$%&'*+.^_`|~0-9A-Za-z-]+: [\t\x20-\x7e\x80-\xff]*$/.test(line))
        )
        const most = given.upgrade === undefined ? 3 : 4
        assert.isAtMost(rest.length - 2, most + given.headers.size)
      }
    },
    { arbitrary: { runs: 2000 } }
  )

  const refused: ReadonlyArray<readonly [title: string, given: RequestLines, part: string]> = [
    [
      "a line break beyond latin-1 in a value",
      lines({ headers: new HeaderList(["x", "a\u010d\u010ab"]) }),
      "header value"
    ],
    ["one in a method", lines({ method: "GET\u010d" }), "method"],
    ["a blank in a target", lines({ pathAndQuery: "/ HTTP/1.1" }), "target"],
    ["the server as a whole, for another method", lines({ pathAndQuery: "*" }), "target"],
    ["more than one asterisk", lines({ method: "OPTIONS", pathAndQuery: "**" }), "target"],
    ["no target", lines({ pathAndQuery: "" }), "target"],
    ["a line break in a host", lines({ authority: "a\r\nx: y" }), "host"],
    ["a colon in a name", lines({ headers: new HeaderList(["x:y", "1"]) }), "header name"],
    ["what is no text", lines({ headers: new HeaderList(["x", 1 as never]) }), "header value"]
  ]
  it.each(refused)("%s is refused", (_, given, part) => {
    const head = requestHead(given, "none")
    assert(head instanceof UnsendableRequest)
    assert.strictEqual(head.part, part)
  })

  it.prop("trailers that cannot be sent stay behind", [text, text], ([name, value]) => {
    const sent = trailerLines(new HeaderList([name, value, "x-last", "1"]))
    assert.match(sent, /^(?:[!#$%&'*+.^_`|~0-9A-Za-z-]+: [\t\x20-\x7e\x80-\xff]*\r\n)?x-last: 1\r\n\r\n$/)
  })
})
