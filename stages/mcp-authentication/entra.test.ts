import { assert, describe, it } from "@effect/vitest"
import { Effect, Redacted } from "effect"
import { HeaderList } from "../../src/http/header-list.ts"
import { RequestHead } from "../../src/http/message.ts"
import { FetchFailed, type FetchRequest } from "../../src/services/http-fetch.ts"
import { tokenForwarding } from "./entra.ts"

/** What reaches the provider of a token request. */
const forwarded = (form: string, headers: Array<string> = [], client: { id?: string; secret?: string } = {}) => {
  const sent: Array<FetchRequest> = []
  const redeem = tokenForwarding(
    (request) => {
      sent.push(request)
      return Effect.succeed({ status: 200, headers: new HeaderList(), body: new Uint8Array(0) })
    },
    new URL("https://login.microsoftonline.com/T1/v2.0"),
    { id: client.id, secret: client.secret === undefined ? undefined : Redacted.make(client.secret) }
  )
  const request = new RequestHead("POST", "https", "mcp.example", "/token", new HeaderList(headers))
  return Effect.map(redeem(request, new TextEncoder().encode(form)), () => sent[0]!)
}

const configured = { id: "client-1", secret: "hush" }
const code = "grant_type=authorization_code&client_id=client-1&code=c"

describe("security invariant: the secret of a client is lent to its users alone", () => {
  it.effect.each<readonly [string, string, Array<string>, boolean]>([
    ["a code of the configured client", code, [], true],
    ["a refresh token", "grant_type=refresh_token&client_id=client-1&refresh_token=r", [], true],
    ["the client itself", "grant_type=client_credentials&client_id=client-1", [], false],
    ["a password", "grant_type=password&client_id=client-1", [], false],
    ["another client", "grant_type=authorization_code&client_id=client-2&code=c", [], false],
    ["no client", "grant_type=authorization_code&code=c", [], false],
    ["two clients", `${code}&client_id=client-2`, [], false],
    ["two grants", `${code}&grant_type=client_credentials`, [], false],
    ["a credential in a header", code, ["authorization", "Basic YTpi"], false],
    ["a secret of its own", `${code}&client_secret=guess`, [], false],
    ["an empty secret of its own", `${code}&client_secret=`, [], false]
  ])("%s", ([_, form, headers, lent]) =>
    Effect.map(forwarded(form, headers, configured), ({ body }) =>
      assert.strictEqual(new URLSearchParams(String(body)).get("client_secret") === "hush", lent)
    )
  )

  it.effect("nothing is lent where there is nothing to lend", () =>
    Effect.map(forwarded(code, [], { id: "client-1" }), ({ body }) => assert.notInclude(String(body), "client_secret"))
  )
})

describe("what reaches Entra", () => {
  it.effect("is the form without the resource, and the credential of the client", () =>
    Effect.gen(function* () {
      const { method, url, headers, body } = yield* forwarded(
        `${code}&resource=https%3A%2F%2Fmcp.example&scope=a+b`,
        ["authorization", "Basic YTpi", "cookie", "secret=1"],
        configured
      )
      assert.deepStrictEqual([method, url], ["POST", "https://login.microsoftonline.com/T1/oauth2/v2.0/token"])
      assert.strictEqual(body, `${code}&scope=a+b`)
      assert.deepStrictEqual(headers?.flat, [
        ...["content-type", "application/x-www-form-urlencoded"],
        ...["accept", "application/json"],
        ...["authorization", "Basic YTpi"]
      ])
    })
  )

  it.effect("is not asked by another method, and its silence is told as what it is", () =>
    Effect.gen(function* () {
      const redeem = tokenForwarding(
        ({ url }) => Effect.fail(new FetchFailed({ url, detail: "connection refused" })),
        new URL("https://login.microsoftonline.com/T1/v2.0"),
        { id: "client-1", secret: undefined }
      )
      const request = (method: string) => new RequestHead(method, "https", "mcp.example", "/token", new HeaderList())
      const { status, headers } = yield* redeem(request("GET"), new Uint8Array(0))
      assert.deepStrictEqual([status, headers.get("allow")], [405, "POST"])
      const error = yield* Effect.flip(redeem(request("POST"), new TextEncoder().encode(code)))
      assert.strictEqual(error._tag, "ProviderUnavailable")
      assert.include(error.detail, "connection refused")
    })
  )
})
