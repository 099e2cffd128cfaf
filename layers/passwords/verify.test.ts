/** Hashes as `htpasswd` of Apache 2.4.71 and `crypt` of Perl wrote them. */
import { assert, describe, it } from "@effect/vitest"
import { kindOf, readList } from "./list.ts"
import { verify } from "./verify.ts"

const written: ReadonlyArray<readonly [kind: string, password: string, hash: string]> = [
  ["bcrypt", "pässword", "$2y$05$KPcamzouKminkUHm1sHhiuvyWld6I9Uq/4Uxe5K5mJQbQCPHSIRcq"],
  ["bcrypt", "x", "$2y$04$EyDXYOAuclNpkfetSrked.P9Kml8AvmMCRvQ7MJ6aHTGbOMtUnTw2"],
  ["bcrypt", "a".repeat(80), "$2y$05$envgI672Huv1QYfmekDQ0eoVHWKqW1VSBMmvTfVkcp8twD6RXVE5W"],
  ["apr1", "pässword", "$apr1$4iJoo2m.$c37SZozXxi4C0j39IpUGy1"],
  ["apr1", "correct horse battery staple, a long one indeed", "$apr1$DV7F5p98$B.dHtadsIp/bLP/WKnQEy/"],
  ["apr1", "", "$apr1$a.MRBHDl$UHjbNboWajBjDPKEQj5ou."],
  ["sha1", "pässword", "{SHA}I7dElEdfX4dJgLdnbVEeI9iG2mQ="],
  ["crypt", "pässw", "dsh5C7PGTNNAE"],
  ["crypt", "eightchr-and-more", "FXJnfOBq1lEpg"],
  ["crypt", "pässw", "abPH0rcyZbsAA"]
]

describe("hashes of passwords", () => {
  it.each(written)("%s of %j", (kind, password, hash) => {
    assert.strictEqual(kindOf(hash), kind)
    assert.isTrue(verify(password, hash))
    assert.isFalse(verify(`!${password}`, hash))
    assert.isFalse(verify(password.slice(0, 3), `${hash.slice(0, -2)}..`))
  })

  it("are the same whichever program says that it wrote them", () => {
    for (const letter of "abxy")
      assert.isTrue(verify("x", `$2${letter}$04$EyDXYOAuclNpkfetSrked.P9Kml8AvmMCRvQ7MJ6aHTGbOMtUnTw2`))
  })

  it.each([
    ["a password that is written out", "secret"],
    [
      "SHA-512",
      "$6$o8S95opEAGtJ7JtO$ZuQEKSNpAfJPRRogSGFnGNNexliZbvuhYaknJP1mVpzBERDkpP4OMaPQmB468diyQpSSU7voLajQwKHquUe6J/"
    ],
    ["SHA-256", "$5$di21bP0VWQ5zQd.b$tvan.FZ0GFoB.OZsx9rh2UFDIuGQbIDg8YVjeSqIWp/"],
    ["bcrypt that takes too long", "$2y$15$EyDXYOAuclNpkfetSrked.P9Kml8AvmMCRvQ7MJ6aHTGbOMtUnTw2"],
    ["bcrypt that takes no time", "$2y$03$EyDXYOAuclNpkfetSrked.P9Kml8AvmMCRvQ7MJ6aHTGbOMtUnTw2"],
    ["half of one", "$apr1$4iJoo2m."],
    ["nothing", ""]
  ])("%s is none", (_, hash) => {
    assert.strictEqual(kindOf(hash), undefined)
    assert.isFalse(verify(hash, hash))
  })
})

describe("a list of users", () => {
  it("is read line by line, and the last line of a name counts", () => {
    const list = readList(
      "# users\r\nada:abPH0rcyZbsAA\r\n\r\n ben:{SHA}I7dElEdfX4dJgLdnbVEeI9iG2mQ=:Ben of Sales \nada:dsh5C7PGTNNAE\nplain:secret\n:abPH0rcyZbsAA\nno colon"
    )
    assert.deepStrictEqual(
      [...list.hashes],
      [
        ["ada", "dsh5C7PGTNNAE"],
        ["ben", "{SHA}I7dElEdfX4dJgLdnbVEeI9iG2mQ="]
      ]
    )
    assert.deepStrictEqual(list.unusable, [6, 7, 8])
  })
})
