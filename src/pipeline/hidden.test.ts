import { assert, describe, it } from "@effect/vitest"
import { Schema } from "effect"
import { type Hidden, nothingHidden, shownUri, shownValue } from "./hidden.ts"

const own: Hidden = { ...nothingHidden, parameters: new Set(["Ticket"]) }

describe("the query of a request, as logs show it", () => {
  it.each([
    ["/a", "/a"],
    ["/a?", "/a?"],
    ["/a?b=c&d", "/a?b=c&d"],
    ["/a?access_token=s3cret", "/a?access_token=<redacted>"],
    ["/a?Access_Token=s3cret&b=c", "/a?Access_Token=<redacted>&b=c"],
    ["/a?b=c&api%5Fkey=s3cret&d=e", "/a?b=c&api%5Fkey=<redacted>&d=e"],
    ["/a?b=c;token=s3cret;d", "/a?b=c;token=<redacted>;d"],
    ["/a?key=s3=cret==&b", "/a?key=<redacted>&b"],
    ["/a?token[]=s3cret&user[password]=s3cret", "/a?token[]=<redacted>&user[password]=<redacted>"],
    ["/a?X-Amz-Signature=s3cret&X-Amz-Date=1", "/a?X-Amz-Signature=<redacted>&X-Amz-Date=1"],
    ["/a?Ticket=s3cret&ticket=open", "/a?Ticket=<redacted>&ticket=open"],
    ["/a?next=/b?code=s3cret", "/a?next=/b?code=<redacted>"],
    ["/a?next=%2Fb%3Fcode%3Ds3cret&x=1", "/a?next=<redacted>&x=1"],
    ["/a?next=%252Fb%253Fx%253D1%2526code%253Ds3cret", "/a?next=<redacted>"],
    ["/a?next=https%3A%2F%2Fb%23access_token%3Ds3cret", "/a?next=<redacted>"],
    ["/a?next=https://ada:s3cret@b/&x=1", "/a?next=<redacted>&x=1"],
    ["/a?next=https%3A%2F%2Fada%3As3cret%40b%2F", "/a?next=<redacted>"],
    ["/a?mail=ada%40example.org&keys=3&tokens=5", "/a?mail=ada%40example.org&keys=3&tokens=5"],
    ["/a?code", "/a?code"]
  ])("%s is shown as %s", (uri, shown) => {
    assert.strictEqual(shownUri(uri, own), shown)
  })

  it("an address within addresses is looked into four times and no deeper", () => {
    let inner = "/b?code=s3cret"
    for (let times = 1; times <= 5; times++) {
      inner = encodeURIComponent(inner)
      assert.strictEqual(shownUri(`/a?next=${inner}`, own), times < 5 ? "/a?next=<redacted>" : `/a?next=${inner}`)
    }
  })

  it("of a query that would take long to be looked at no more is shown than can be", () => {
    const shown = shownUri(`/a?${"x=%25&".repeat(5_000)}access%5Ftoken=s3cret&y=1`, own)
    assert.isTrue(shown.startsWith("/a?x=%25&x=%25&"))
    assert.isTrue(shown.endsWith("x=<redacted>&access%5Ftoken=<redacted>&y=1"))
  })

  it.prop("without the name of a credential it is shown as it came", [Schema.String], ([text]) => {
    const harmless = text.replace(/[?&;#=%@[\]]/g, "")
    assert.strictEqual(shownUri(`/${harmless}?x=${harmless}`, nothingHidden), `/${harmless}?x=${harmless}`)
  })
})

describe("a header that holds an address, as traces show it", () => {
  it.each([
    ["text/plain; charset=utf-8", "text/plain; charset=utf-8"],
    ["https://ada:s3cret@b.example/x", "https://<redacted>@b.example/x"],
    ["https://b.example/#id_token=s3cret&x=1", "https://b.example/#id_token=<redacted>&x=1"],
    ["https://b.example/cb?code=s3cret&state=1", "https://b.example/cb?code=<redacted>&state=1"]
  ])("%s is shown as %s", (value, shown) => {
    assert.strictEqual(shownValue(value, nothingHidden), shown)
  })
})
