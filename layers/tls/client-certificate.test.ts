import { X509Certificate } from "node:crypto"
import { readFileSync } from "node:fs"
import { join } from "node:path"
import { assert, describe, it } from "@effect/vitest"
import { describe as described } from "./client-certificate.ts"

const certificate = (name: string) =>
  new X509Certificate(readFileSync(join(import.meta.dirname, `../../test/http/fixtures/tls/${name}.pem`)))

describe("what a client certificate says", () => {
  it("is an identity of SPIFFE where it has one URI", () => {
    const { spiffeId, identity } = described(certificate("workload"))
    assert.strictEqual(spiffeId, "spiffe://cluster.local/ns/shop/sa/cart")
    assert.deepStrictEqual(identity, { trustDomain: "cluster.local", namespace: "shop", serviceAccount: "cart" })
  })

  it("is none where there are two, be the second one no name that is shown", () => {
    const { spiffeId, identity, subjectAltNames } = described(certificate("two-identities"))
    assert.deepStrictEqual([spiffeId, identity], [undefined, undefined])
    assert.deepStrictEqual(subjectAltNames, ["spiffe://cluster.local/ns/shop/sa/cart"])
  })
})
