import { assert, describe, it } from "@effect/vitest"
import { type Framed, frameRequest, type Malformed, offeredProtocols } from "./framing.ts"

const frame = (
  raw: ReadonlyArray<string>,
  { method = "GET", target = "/", version = "1.1" as "1.0" | "1.1", scheme = "http" as "http" | "https" } = {}
) => frameRequest(method, target, version, raw, scheme)

const framed = (found: Framed | Malformed): Framed => {
  if (found._tag !== "Framed") throw new Error(`refused: ${found.message}`)
  return found
}
const refused = (found: Framed | Malformed): readonly [number, string] =>
  found._tag === "Malformed" ? [found.status, found.message] : [200, "accepted"]

const host = ["Host", "a.example"]

describe("request framing", () => {
  it("names are lower-case, order and duplicates stay, the host becomes the authority", () => {
    const { head } = framed(frame(["X-B", "1", "Host", "A.example:80", "x-a", "2", "X-B", "3", "Cookie", "c"]))
    assert.strictEqual(head.authority, "a.example")
    assert.deepStrictEqual(head.headers.flat, ["x-b", "1", "x-a", "2", "x-b", "3", "cookie", "c"])
  })

  it("connection headers stay behind, and so do those that connection names", () => {
    const { head, upgrade } = framed(
      frame([
        ...host,
        ...["Connection", "close, X-Hop", "Keep-Alive", "timeout=5", "X-Hop", "1", "Proxy-Connection", "x"],
        ...["TE", "gzip", "Trailer", "X-T", "Upgrade", "websocket", "Expect", "100-continue", "X-End", "2"]
      ])
    )
    assert.deepStrictEqual(head.headers.flat, ["x-end", "2"])
    assert.isUndefined(upgrade)
  })

  it("connection cannot take away what the message means", () => {
    const { head } = framed(
      frame(
        [...host, "Connection", "authorization, content-length, cookie, host, content-type", "Authorization", "a"],
        {
          method: "POST"
        }
      )
    )
    assert.deepStrictEqual(head.headers.flat, ["authorization", "a"])
    assert.strictEqual(head.authority, "a.example")
  })

  it("connection may name as much as it likes: it costs one pass over the headers", () => {
    const time = (count: number) => {
      const headers = Array.from({ length: count }, (_, i) => [`x-${i}`, "1"]).flat()
      const lines = [...host, ...headers, "Connection", "a,".repeat(31_000)]
      const start = process.cpuUsage().user
      for (let i = 0; i < 40; i++) assert.lengthOf(framed(frame(lines)).head.headers.flat, headers.length)
      return process.cpuUsage().user - start
    }
    time(1)
    assert.isBelow(time(98), 3 * time(1) + 50_000)
  })

  it("a wish for trailers passes on, other transfer codings do not", () => {
    assert.deepStrictEqual(framed(frame([...host, "TE", "gzip, trailers;q=1"])).head.headers.flat, ["te", "trailers"])
    assert.deepStrictEqual(framed(frame([...host, "TE", "trailersx"])).head.headers.flat, [])
  })

  it("names that only the proxy sets are never accepted", () => {
    assert.deepStrictEqual(framed(frame([...host, "X-Headgate-User", "root"])).head.headers.flat, [])
  })

  it("proxy-authorization is for a policy to read", () => {
    const { head } = framed(frame([...host, "Proxy-Authorization", "Basic x"]))
    assert.strictEqual(head.headers.get("proxy-authorization"), "Basic x")
  })

  it("how the body is delimited", () => {
    assert.isUndefined(framed(frame(host)).body)
    assert.isUndefined(framed(frame([...host, "Content-Length", "0"])).body)
    assert.strictEqual(framed(frame([...host, "Content-Length", "5"])).body, 5)
    assert.strictEqual(framed(frame([...host, "Transfer-Encoding", "Chunked"])).body, "chunked")
  })

  it("the target may have an authority of its own, which wins", () => {
    const { head } = framed(frame(host, { target: "http://Other.example:8080/p?q" }))
    assert.strictEqual(head.authority, "other.example:8080")
    assert.strictEqual(head.pathAndQuery, "/p?q")
    assert.strictEqual(framed(frame(host, { target: "http://other.example?q" })).head.pathAndQuery, "/?q")
  })

  it("OPTIONS may be asked of the server as a whole", () => {
    for (const target of ["*", "http://other.example"])
      assert.strictEqual(framed(frame(host, { target, method: "OPTIONS" })).head.pathAndQuery, "*")
    const { head } = framed(frame(host, { target: "http://other.example", method: "OPTIONS" }))
    assert.strictEqual(head.uri, "http://other.example")
    assert.strictEqual(
      framed(frame(host, { target: "http://other.example/", method: "OPTIONS" })).head.pathAndQuery,
      "/"
    )
    assert.strictEqual(
      framed(frame(host, { target: "http://other.example?q", method: "OPTIONS" })).head.pathAndQuery,
      "/?q"
    )
  })

  it("the path gets its normal form, unless it is to stay as it came; the query stays", () => {
    const { head } = framed(frame(host, { target: "/a/../b//%7e%2Fc?x=//%0a/../%zz" }))
    assert.strictEqual(head.pathAndQuery, "/b/~%2Fc?x=//%0a/../%zz")
    assert.strictEqual(head.otherPath, "/b/~/c")
    assert.deepStrictEqual(refused(frame(host, { target: "/a%zz" })), [400, "invalid percent-encoding in the path"])
    assert.deepStrictEqual(refused(frame(host, { target: "http://a.example/a\\b" })), [400, "backslash in the path"])
    const target = "/a/../b//%2e%2e/%zz\\?x"
    const raw = framed(frameRequest("GET", target, "1.1", host, "http", "raw")).head
    assert.strictEqual(raw.pathAndQuery, target)
    assert.isUndefined(raw.otherPath)
  })

  it("HTTP/1.0 may go without a host only if the target names one", () => {
    assert.deepStrictEqual(refused(frame([], { version: "1.0" })), [400, "no authority or host"])
    assert.strictEqual(framed(frame([], { version: "1.0", target: "http://a.example/" })).head.authority, "a.example")
    assert.deepStrictEqual(refused(frame([], { target: "http://a.example/" })), [400, "no authority or host"])
  })

  it("upgrades are for HTTP/1.1 clients that name them in connection", () => {
    const wish = ["Connection", "keep-alive, Upgrade", "Upgrade", "websocket"]
    assert.strictEqual(framed(frame([...host, ...wish])).upgrade, "websocket")
    assert.isUndefined(framed(frame([...host, ...wish], { version: "1.0" })).upgrade)
    assert.isUndefined(framed(frame([...host, "Upgrade", "websocket"])).upgrade)
    assert.isUndefined(framed(frame([...host, "Connection", "upgrade"])).upgrade)
  })

  it("an empty upgrade asks for nothing, so that another request may follow", () => {
    for (const empty of [
      ["Upgrade", ""],
      ["Upgrade", "", "Upgrade", ""]
    ])
      assert.isFalse(framed(frame([...host, "Connection", "upgrade", ...empty])).upgrading)
    const wish = framed(frame([...host, "Connection", "upgrade", "Upgrade", "", "Upgrade", "websocket"]))
    assert.deepStrictEqual([wish.upgrade, wish.upgrading], ["websocket", true])
  })

  it("h2c is never offered on", () => {
    assert.isUndefined(offeredProtocols("h2c"))
    assert.isUndefined(offeredProtocols(" , "))
    assert.strictEqual(offeredProtocols("H2C, websocket ,foo/2"), "websocket, foo/2")
  })

  const cases: ReadonlyArray<
    readonly [
      title: string,
      raw: ReadonlyArray<string>,
      options: Parameters<typeof frame>[1],
      answer: readonly [number, string]
    ]
  > = [
    ["two hosts", [...host, "host", "a.example"], {}, [400, "more than one host header"]],
    ["no host", [], {}, [400, "no authority or host"]],
    ["a host that is none", ["Host", "a b"], {}, [400, "invalid authority or host"]],
    [
      "a host that is none beside a target that has one",
      ["Host", "a@b"],
      { target: "http://c/" },
      [400, "invalid authority or host"]
    ],
    [
      "two lengths, even equal ones",
      [...host, "Content-Length", "1", "Content-Length", "1"],
      {},
      [400, "more than one content-length header"]
    ],
    ["a list of lengths", [...host, "Content-Length", "1, 1"], {}, [400, "content-length is not a number"]],
    ["a signed length", [...host, "Content-Length", "+1"], {}, [400, "content-length is not a number"]],
    [
      "a length beyond exact numbers",
      [...host, "Content-Length", "9".repeat(16)],
      {},
      [400, "content-length is not a number"]
    ],
    [
      "a length and a coding",
      [...host, "Content-Length", "1", "Transfer-Encoding", "chunked"],
      {},
      [400, "both content-length and transfer-encoding"]
    ],
    [
      "two codings",
      [...host, "Transfer-Encoding", "chunked", "Transfer-Encoding", "chunked"],
      {},
      [400, "more than one transfer-encoding header"]
    ],
    [
      "a coding besides chunked",
      [...host, "Transfer-Encoding", "gzip, chunked"],
      {},
      [501, "unsupported transfer-encoding"]
    ],
    ["identity", [...host, "Transfer-Encoding", "identity"], {}, [501, "unsupported transfer-encoding"]],
    [
      "chunked in HTTP/1.0",
      [...host, "Transfer-Encoding", "chunked"],
      { version: "1.0" },
      [400, "transfer-encoding in an HTTP/1.0 request"]
    ],
    ["CONNECT", host, { method: "CONNECT", target: "a.example:443" }, [405, "method not allowed"]],
    ["an asterisk", host, { target: "*" }, [400, "asterisk-form target"]],
    ["a fragment", host, { target: "/a#b" }, [400, "fragment in the request target"]],
    ["an authority as the target", host, { target: "a.example:80" }, [400, "invalid request target"]],
    ["another scheme", host, { target: "ftp://a.example/" }, [400, "invalid request target"]],
    ["user info in the target", host, { target: "http://u@a.example/" }, [400, "invalid authority or host"]]
  ]
  it.each(cases)("refuses %s", (_, raw, options, answer) => {
    assert.deepStrictEqual(refused(frame(raw, options)), answer)
  })
})
