/** What is wrong with TLS of listeners is told when the configuration is read, with its place, all at once. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Result } from "effect"
import { graphsOf } from "../../src/main/configuration/offline.ts"
import { at, fixtures, pem } from "./edge.ts"

const folder = Effect.acquireRelease(
  Effect.sync(() => mkdtempSync(join(tmpdir(), "headgate-tls-"))),
  (path) => Effect.sync(() => rmSync(path, { recursive: true }))
)

/** One line for each field, so that places do not depend on where the fixtures are. */
const gateway = (tls: Readonly<Record<string, string>>) =>
  `gateways:\n  default:\n    port: 8443\n    tls:\n${Object.entries(tls)
    .map(([field, value]) => `      ${field}: ${value}\n`)
    .join("")}`

const problemsOf = (text: string, folder = fixtures) =>
  Effect.map(Effect.result(graphsOf({ name: "config.yaml", text, env: {}, folder })), (result) =>
    Result.isFailure(result)
      ? result.failure.problems.map(
          ({ line, column, path, message }) => `${line}:${column} ${path.replace("gateways.default.", "")}: ${message}`
        )
      : []
  )

const sound = { cert: "server.pem", key: "server.key" }

const cases: ReadonlyArray<readonly [tls: Readonly<Record<string, string>>, ...problems: ReadonlyArray<string>]> = [
  [{ cert: "a" }, "4:5 tls: cert and key are both required"],
  [
    { cert: "none.pem", key: "encrypted.key", root: "server.key" },
    "5:13 tls.cert: cannot read none.pem: there is no such file",
    "6:12 tls.key: encrypted.key:1: the private key is encrypted; write one without a passphrase",
    "7:13 tls.root: server.key: it holds no certificate in PEM form"
  ],
  [{ ...sound, key: "client.key" }, "6:12 tls.key: client.key: it is not the key of the certificate in server.pem"],
  [
    { ...sound, clientCertificates: "optional" },
    "7:27 tls.clientCertificates: needs root: the authorities of client certificates"
  ],
  [{ ...sound, maxTLSVersion: "TLS_V1_1" }, "4:5 tls: TLS_V1_1 is not spoken: the lowest is TLS_V1_2"],
  [
    { ...sound, minTlsVersion: "TLS_V1_3", maxTlsVersion: "TLS_V1_2" },
    "4:5 tls: the lowest version is above the highest"
  ],
  [
    { ...sound, minTLSVersion: "TLS_V1_3", cipherSuites: "[TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256]" },
    "8:21 tls.cipherSuites: none of the cipher suites is one of the versions that are spoken"
  ],
  [
    { ...sound, maxTLSVersion: "TLS_V1_2", cipherSuites: "[TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256]" },
    "8:21 tls.cipherSuites: none of the cipher suites can be used with the key of the certificate (ec)"
  ],
  [
    { ...sound, keyExchangeGroups: "[P-521]" },
    '7:27 tls.keyExchangeGroups[0]: expected one of "X25519", "P-256", "P-384", "X25519_MLKEM768"'
  ],
  [{ ...sound, mode: "dynamicCa" }, "5:13 tls.cert: server.pem: it is not the certificate of an authority"],
  [{ spiffe: "{}" }, "5:15 tls.spiffe: spiffe is not available yet"],
  [{ ...sound, mode: "static", clientCertificates: "required", root: "authority.pem" }]
]

describe("problems of TLS of listeners", () => {
  it.effect.each(cases)("%o", ([tls, ...problems]) =>
    Effect.gen(function* () {
      assert.deepStrictEqual(yield* problemsOf(gateway(tls)), problems)
    })
  )

  it.effect("the line in a file is told", () =>
    Effect.gen(function* () {
      const own = yield* folder
      writeFileSync(join(own, "server.key"), pem("server.key"))
      writeFileSync(join(own, "server.pem"), `# for localhost\n${pem("server.pem").replace(/-----END.*/, "")}`)
      assert.deepStrictEqual(yield* problemsOf(gateway(sound), own), [
        "5:13 tls.cert: server.pem:2: a block begins (CERTIFICATE) that does not end"
      ])
    })
  )

  it.effect("what holds for all listeners is read whether one of them has TLS or not", () =>
    Effect.gen(function* () {
      const plain = "gateways: { default: { port: 8080 } }\n"
      assert.deepStrictEqual(yield* problemsOf(`${plain}frontendPolicies: { tls: { alpn: [[102, 116, 112]] } }`), [
        '2:35 frontendPolicies.tls.alpn[0]: expected the bytes of h2 or http/1.1: no listener speaks "ftp"'
      ])
      const tls = `tls: { cert: ${at("server.pem")}, key: ${at("server.key")} }`
      assert.deepStrictEqual(
        yield* problemsOf(
          `gateways: { default: { port: 8443, ${tls} } }\nfrontendPolicies: { tls: { maxVersion: TLS_V1_0 } }`
        ),
        ["1:41 tls: TLS_V1_0 is not spoken: the lowest is TLS_V1_2"]
      )
    })
  )
})
