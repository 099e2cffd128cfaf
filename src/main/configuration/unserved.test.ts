import { spawnSync } from "node:child_process"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Result } from "effect"
import { graphsOf } from "./offline.ts"

const problemsOf = (section: string) =>
  Effect.map(
    Effect.result(
      graphsOf({
        name: "config.yaml",
        text: `gateways: { default: { port: 3000 } }\nroutes: [{ backends: [{ host: "a:1" }] }]\n${section}`,
        env: {}
      })
    ),
    (result) =>
      Result.isFailure(result) ? result.failure.problems.map(({ line, message }) => `${line}: ${message}`) : []
  )

describe("what this build reads but does not serve", () => {
  it.effect.each([
    [
      "binds: [{ port: 1, tunnelProtocol: hboneGateway, listeners: [{ routes: [] }] }]",
      "3: tunnelProtocol hboneGateway is not available yet"
    ],
    ["frontendPolicies: { accessLog: {} }", "3: policy accessLog is not available yet"],
    [
      "frontendPolicies: { http: { http1HeaderCase: preserve } }",
      "3: preserving the case of header names is not available yet"
    ],
    [
      "binds: [{ port: 1, listeners: [{ protocol: TCP, tcpRoutes: [{ backends: [{ dynamic: {} }] }] }] }]",
      "3: a dynamic backend of a TCP route is not available yet"
    ],
    [
      "binds: [{ port: 1, listeners: [{ protocol: HBONE }] }]",
      "3: HBONE, the tunnel between workloads of a mesh that this proxy is no part of, is not available yet"
    ],
    ["llm: { port: 1, tls: { spiffe: {} }, models: [] }", "3: spiffe is not available yet"],
    ["workloads: [{}]", "3: a workload of a mesh is not available yet"],
    [
      `backends: [{ name: b, mcp: { targets: [{ name: t, stdio: { cmd: x } }] } }]
policies: [{ name: { name: p, namespace: n }, target: { backend: { backend: { name: b, namespace: "", section: t } } }, policy: { authorization: { rules: [] } } }]`,
      "4: a policy of one target of an MCP backend is not available yet"
    ]
  ] as const)("%s is refused with its place", ([section, problem]) =>
    Effect.gen(function* () {
      assert.deepStrictEqual(yield* problemsOf(section), [problem])
    })
  )

  it("is told by headgatectl validate, which starts nothing", () => {
    const { status, stdout } = spawnSync(process.execPath, ["bin/headgatectl.mjs", "validate", "-"], {
      input:
        "gateways: { default: { port: 3000 } }\nroutes: [{ policies: { extProc: { host: 'p:1' } }, backends: [] }]\n",
      encoding: "utf8"
    })
    assert.match(
      stdout,
      /^<stdin>:2:\d+: warning: routes\[0\]\.policies\.extProc: policy extProc is not available yet \[unavailable\]\n/m
    )
    assert.match(stdout, /^valid, but this build cannot serve 1 thing\n$/m)
    assert.strictEqual(status, 3)
  })

  it("headgatectl validate warns of what is doubtful, and fails for it only where told to be strict", () => {
    const validated = (...flags: ReadonlyArray<string>) =>
      spawnSync(process.execPath, ["bin/headgatectl.mjs", "validate", ...flags, "-"], {
        input: "gateways: { default: { port: 3000 } }\nroutes: [{ backends: [] }, { backends: [] }]\n",
        encoding: "utf8"
      })
    const lenient = validated()
    assert.match(lenient.stdout, /^<stdin>:2:\d+: warning: routes\[1\]: never matches: /m)
    assert.match(lenient.stdout, /Configuration is valid!\n$/)
    assert.strictEqual(lenient.status, 0)
    assert.strictEqual(validated("--strict").status, 1)
  })

  it.effect("nothing of it is nothing to refuse", () =>
    Effect.gen(function* () {
      assert.deepStrictEqual(yield* problemsOf("services: []"), [])
      // What happens to CONNECT anyway.
      for (const mode of ["deny", "route"])
        assert.deepStrictEqual(yield* problemsOf(`frontendPolicies: { connect: { mode: ${mode} } }`), [])
      const http =
        "{ maxBufferSize: 1, http1MaxHeaders: 1, http1IdleTimeout: 1s, http1HeaderTimeout: 1s, http1HeaderCase: lowercase, maxConnectionDuration: 1s, http2WindowSize: 1Mi, http2ConnectionWindowSize: 4Mi, http2FrameSize: 32Ki, http2MaxHeaderSize: 32Ki, http2KeepaliveInterval: 1s, http2KeepaliveTimeout: 1s }"
      const tls =
        "{ handshakeTimeout: 1s, alpn: [[104, 50], [104, 116, 116, 112, 47, 49, 46, 49]], minVersion: TLS_V1_2, maxVersion: TLS_V1_3, cipherSuites: [TLS13_AES_256_GCM_SHA384], keyExchangeGroups: [X25519] }"
      const frontend = `frontendPolicies: { http: ${http}, tls: ${tls}, tcp: { keepalives: {} } }`
      assert.deepStrictEqual(yield* problemsOf(frontend), [])
    })
  )
})
