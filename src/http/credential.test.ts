import { assert, describe, it } from "@effect/vitest"
import { Arbitrary, Schema } from "effect"
import { type Carrier, cookieCarrier, headerCarrier, queryCarrier } from "./credential.ts"
import { HeaderList } from "./header-list.ts"
import { RequestHead } from "./message.ts"

const request = (pathAndQuery: string, headers: Array<string> = []) =>
  new RequestHead("GET", "http", "example.com", pathAndQuery, new HeaderList(headers))

/** What was read, and what is left of the request afterwards. */
const taken = (carrier: Carrier, head: RequestHead) => {
  const credential = carrier.read(head)
  carrier.remove(head)
  return [credential, head.pathAndQuery, head.headers.flat]
}

describe("a credential in a header", () => {
  const bearer = headerCarrier("authorization", "Bearer ")
  it.each([
    ["its prefix is compared without regard to case", "bEARER abc", "abc"],
    ["a line without the prefix carries none", "Basic abc", undefined],
    ["nothing behind the prefix is no credential", "Bearer ", undefined],
    ["what follows the prefix is taken as it is", "Bearer  a b", " a b"]
  ])("%s", (_, value, expected) => {
    assert.deepStrictEqual(taken(bearer, request("/", ["authorization", value, "accept", "*/*"])), [
      expected,
      "/",
      ["accept", "*/*"]
    ])
  })

  it("without a prefix the whole value counts, and the first line", () => {
    const carrier = headerCarrier("x-key")
    assert.strictEqual(carrier.read(request("/", ["x-key", "one", "x-key", "two"])), "one")
    assert.strictEqual(carrier.read(request("/", ["x-key", ""])), undefined)
    assert.strictEqual(carrier.read(request("/")), undefined)
  })
})

describe("a credential in the query", () => {
  const carrier = queryCarrier("key")
  it.each([
    ["/p?key=s3cret", "s3cret", "/p"],
    ["/p?a=1&key=a%2Fb+c&b=%20", "a/b c", "/p?a=1&b=%20"],
    ["/p?k%65y=x&key=y&z", "x", "/p?z"],
    ["/p?key=", undefined, "/p"],
    ["/p?keys=1", undefined, "/p?keys=1"],
    ["/p??key=1", undefined, "/p??key=1"],
    ["/p", undefined, "/p"],
    ["/p?", undefined, "/p?"]
  ])("%s", (before, credential, after) => {
    assert.deepStrictEqual(taken(carrier, request(before)), [credential, after, []])
  })

  it("a parameter without a name is not one whose name begins like it", () => {
    assert.deepStrictEqual(taken(queryCarrier("=a"), request("/p?=a&%3Da=b")), ["b", "/p?=a", []])
  })
})

describe("a credential in a cookie", () => {
  const carrier = cookieCarrier("session")
  it.each([
    [["cookie", "session=abc"], "abc", []],
    [["cookie", "a=1; session=x=y; b=2"], "x=y", ["cookie", "a=1; b=2"]],
    [["cookie", "session=abc; a=1"], "abc", ["cookie", "a=1"]],
    [["cookie", "a=1", "accept", "*/*", "cookie", "session=abc"], "abc", ["accept", "*/*", "cookie", "a=1"]],
    [["cookie", "Session=abc; session"], undefined, ["cookie", "Session=abc; session"]],
    [["accept", "*/*"], undefined, ["accept", "*/*"]]
  ])("%j", (before, credential, after) => {
    assert.deepStrictEqual(taken(carrier, request("/", before)), [credential, "/", after])
  })
})

const word = Schema.String.check(Schema.isPattern(/^[a-z]{1,3}$/u))
const pairs = Arbitrary.array(Arbitrary.schema(Schema.Tuple([word, word])), { maxLength: 5 })

describe("laws of every place", () => {
  const text = (list: ReadonlyArray<readonly [string, string]>, separator: string) =>
    list.map(([name, value]) => `${name}=${value}`).join(separator)

  it.prop("what was removed cannot be read again, and nothing else is gone", [pairs, word], ([list, name]) => {
    const rest = list.filter(([key]) => key !== name)
    const first = list.find(([key]) => key === name)?.[1]

    const inQuery = request(list.length > 0 ? `/p?${text(list, "&")}` : "/p")
    assert.strictEqual(queryCarrier(name).read(inQuery), first)
    queryCarrier(name).remove(inQuery)
    assert.strictEqual(inQuery.pathAndQuery, rest.length > 0 ? `/p?${text(rest, "&")}` : "/p")

    const inCookie = request("/", list.length > 0 ? ["cookie", text(list, "; ")] : [])
    assert.strictEqual(cookieCarrier(name).read(inCookie), first)
    cookieCarrier(name).remove(inCookie)
    assert.deepStrictEqual(inCookie.headers.flat, rest.length > 0 ? ["cookie", text(rest, "; ")] : [])
  })

  const shown = Schema.String.check(Schema.isPattern(/^[!-:<-~]{1,12}$/u))
  it.prop(
    "what was put is what is read, alone, and leaves the others in place",
    [pairs, word, shown],
    ([list, name, key]) => {
      const others = list.filter(([own]) => own !== name)
      const carriers = [queryCarrier(name), cookieCarrier(name), headerCarrier(name, "Key ")]
      for (const carrier of carriers) {
        const cookies =
          list.length > 0 ? ["cookie", text(list.slice(0, 2), "; "), "cookie", text(list.slice(2), "; ")] : []
        const asked = request(list.length > 0 ? `/p?${text(list, "&")}` : "/p", [
          ...cookies,
          name,
          "mine",
          name,
          "also"
        ])
        const before = request(asked.pathAndQuery, [...asked.headers.flat])
        carrier.put(key)(asked)
        assert.strictEqual(carrier.read(asked), key)
        for (const other of carriers) if (other !== carrier) assert.strictEqual(other.read(asked), other.read(before))
        for (const [own] of others) {
          assert.strictEqual(queryCarrier(own).read(asked), queryCarrier(own).read(before))
          assert.strictEqual(cookieCarrier(own).read(asked), cookieCarrier(own).read(before))
        }
        carrier.remove(asked)
        assert.isUndefined(carrier.read(asked))
      }
    }
  )
})
