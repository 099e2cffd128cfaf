import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { HeaderList } from "../../http/header-list.ts"
import { RequestHead } from "../../http/message.ts"
import { Exchange } from "../exchange.ts"
import type { RequestSite } from "../site.ts"
import { credentialHeaders } from "../slots.ts"
import { compileCredential } from "./credential.ts"

const site: RequestSite = "route"
const at = (name: string, preserved = false) =>
  Effect.runSync(compileCredential({ header: { name } }, site, [], preserved))
const exchange = () =>
  new Exchange(
    new RequestHead("GET", "http", "example.com", "/", new HeaderList()),
    undefined,
    { address: "127.0.0.1", port: 1, rawAddress: "127.0.0.1", rawPort: 1 },
    0,
    0
  )

describe("what several policies looked for", () => {
  it("is left in the exchange, whichever of them a request passes, without making anything for it anew", () => {
    const [key, token, other] = [at("x-api-key"), at("Authorization", true), at("x-other")]
    const left = (...looking: ReadonlyArray<typeof key>) => {
      const x = exchange()
      for (const credential of looking) credential.read(x)
      return x.get(credentialHeaders)
    }
    const both = { looked: ["x-api-key", "authorization"], preserved: ["authorization"] }
    const alone = { looked: ["authorization"], preserved: ["authorization"] }
    const first = left(key, token)
    assert.deepStrictEqual(first, both)
    assert.strictEqual(left(key, token), first)
    assert.deepStrictEqual(left(token), alone)
    assert.deepStrictEqual(left(key, token), both)
    assert.deepStrictEqual(left(other, token), { ...both, looked: ["x-other", "authorization"] })
    assert.deepStrictEqual(left(key, token), both)
  })
})
