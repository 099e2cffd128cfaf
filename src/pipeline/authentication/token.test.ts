import { Buffer } from "node:buffer"
import { assert, describe, it } from "@effect/vitest"
import { parseToken } from "./token.ts"

const part = (json: string) => Buffer.from(json).toString("base64url")
const header = part('{"alg":"RS256"}')
const claims = part('{"sub":"ada"}')

describe("a token", () => {
  it("has three parts, of which the first two are JSON objects", () => {
    const whole = parseToken(`${header}.${claims}.c2ln`)
    assert.deepInclude(whole, { algorithm: "RS256", claims: { sub: "ada" }, signed: `${header}.${claims}` })
    for (const text of ["", ".", header, `${header}.${claims}`, `${header}.${claims}.c2ln.`])
      assert.deepStrictEqual(parseToken(text), { part: "token", detail: "expected three parts" }, text)
  })

  it.each(["null", "1", '"text"', "true", "[]", "", "{", '{"a":1,"a":2}', "\ufeff{}"])(
    "%s is no JSON object",
    (json) => {
      const expected = "expected a JSON object in base64url, each member once"
      assert.deepInclude(parseToken(`${part(json)}.${claims}.c2ln`), { part: "header", detail: expected })
      assert.deepInclude(parseToken(`${header}.${part(json)}.c2ln`), {
        part: "token",
        detail: expected.replace("expected", "expected the claims as")
      })
    }
  )
})
