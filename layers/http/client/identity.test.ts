import { readFileSync } from "node:fs"
import { join } from "node:path"
import { createServer, type TLSSocket } from "node:tls"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Redacted } from "effect"
import type { Address } from "../../../spec/target.ts"
import { type UpstreamOptions, Upstreams, type UpstreamTunnel } from "../../../src/services/upstreams.ts"
import { portOf, upstreamRequest, upstreams } from "../../../test/http/edge.ts"
import { listening, proxy, secure } from "../../../test/http/forward-proxy.ts"
import { type ConnectionSettings, settle } from "../connection-settings.ts"
import { identityOf } from "./identity.ts"

type Tls = NonNullable<ConnectionSettings["tls"]>

const tls: Tls = {
  root: "root",
  hostname: "name",
  client: { certificate: "certificate", key: Redacted.make("key") },
  verify: "everything",
  names: ["one", "two"],
  alpn: ["http/1.1"],
  groups: ["X25519"]
}
/** Other values of everything that TLS is made from: a new one has to be added here. */
const othersOfTls: { readonly [K in keyof Tls]-?: ReadonlyArray<Tls[K]> } = {
  root: ["other", undefined],
  hostname: ["other", undefined],
  client: [
    undefined,
    { certificate: "other", key: Redacted.make("key") },
    { certificate: "certificate", key: Redacted.make("other") }
  ],
  verify: ["chain", "nothing"],
  names: [undefined, [], ["one"], ["two", "one"]],
  alpn: [undefined, [], ["other"]],
  groups: [undefined, ["P-256"], ["X25519", "P-256"]]
}
const target: Address = { kind: "tcp", host: "a.example", port: 443, tls: true }
const settings = settle(target, { tls })

const tunnel = {
  proxy: { kind: "tcp", host: "proxy.example", port: 3128, tls: false },
  mode: "auto",
  authorization: Redacted.make("Bearer key"),
  tls
} satisfies ConnectionSettings["tunnel"]

/** Other values of every setting: a new one has to be added here. */
const others: { readonly [K in keyof ConnectionSettings]-?: ReadonlyArray<ConnectionSettings[K]> } = {
  tls: [
    undefined,
    ...Object.entries(othersOfTls).flatMap(([field, values]) =>
      (values as ReadonlyArray<unknown>).map((value): Tls => ({ ...tls, [field]: value }))
    )
  ],
  version: ["1.1", "2"],
  connectTimeout: [1],
  idleTimeout: [1],
  maxConnections: [1],
  probes: ["none", { time: 1, interval: 180_000, retries: 9 }],
  addresses: ["all", "v4", "v6"],
  bodyIdleTimeout: [1],
  tunnel: [
    tunnel,
    { ...tunnel, proxy: { ...tunnel.proxy, host: "other" } },
    { ...tunnel, mode: "connect" },
    { ...tunnel, authorization: undefined },
    { ...tunnel, authorization: Redacted.make("Bearer other") },
    { ...tunnel, tls: undefined },
    { ...tunnel, tls: { ...tls, root: "other" } },
    { ...tunnel, connectTimeout: 1 },
    { ...tunnel, probes: "none" }
  ]
}
const targets: ReadonlyArray<Address> = [
  { kind: "unix", path: "a.example" },
  { ...target, host: "b.example" },
  { ...target, port: 444 },
  { ...target, tls: false }
]

describe("the identity of connections", () => {
  it("is the same for the same, however it is written", () => {
    const again = settle(target, { tls: { ...tls, client: { key: Redacted.make("key"), certificate: "certificate" } } })
    assert.strictEqual(identityOf({ ...target }, again), identityOf(target, settings))
  })

  it("is another one when anything is another one", () => {
    const identities = [
      identityOf(target, settings),
      ...targets.map((other) => identityOf(other, settings)),
      ...Object.entries(others).flatMap(([field, values]) =>
        (values as ReadonlyArray<unknown>).map((value) => identityOf(target, { ...settings, [field]: value }))
      )
    ]
    assert.strictEqual(new Set(identities).size, identities.length)
  })

  it("shows nothing of a secret", () => {
    assert.notInclude(identityOf(target, settings), "key")
    assert.match(identityOf(target, settings), /^[A-Za-z0-9+/]{43}=$/)
  })

  it.live("keeps TLS sessions apart: one is resumed by those alone who trust as the first did", () =>
    Effect.gen(function* () {
      const fixture = (name: string) =>
        readFileSync(join(import.meta.dirname, "../../../test/http/fixtures", name), "utf8")
      const cert = fixture("localhost.cert.pem")
      const resumed: Array<boolean> = []
      const server = createServer({ key: fixture("localhost.key.pem"), cert }, (socket: TLSSocket) => {
        resumed.push(socket.isSessionReused())
        socket.on("error", () => {})
        socket.once("data", () => socket.end("HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: 2\r\n\r\nok"))
      })
      yield* Effect.promise(() => new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve)))
      yield* Effect.addFinalizer(() => Effect.sync(() => server.close()))
      const { open } = yield* Upstreams
      const to: Address = { kind: "tcp", host: "localhost", port: portOf(server.address()), tls: true }
      const call = (options: UpstreamOptions) =>
        Effect.flatMap(open(to, options), ({ send }) => Effect.andThen(send(upstreamRequest()), Effect.sleep(20)))
      const trusting = { tls: { root: cert, verify: "everything" } } as const
      yield* call(trusting)
      yield* call(trusting)
      assert.deepStrictEqual(resumed, [false, true])
      yield* call({ tls: { verify: "nothing" } })
      yield* call({ tls: { root: `${cert}\n`, verify: "everything" } })
      assert.deepStrictEqual(resumed, [false, true, false, false])
      const failed = yield* Effect.flip(call({ tls: { verify: "everything" } }))
      assert.match(failed.message, /tls/)
    }).pipe(Effect.provide(upstreams()))
  )

  it.live(
    "keeps TLS sessions in tunnels apart: one is resumed by those alone who come by the same way, as the same",
    () =>
      Effect.gen(function* () {
        const resumed: Array<boolean> = []
        const server = createServer(secure, (socket: TLSSocket) => {
          resumed.push(socket.isSessionReused())
          socket.on("error", () => {})
          socket.once("data", () => socket.end("HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: 2\r\n\r\nok"))
        })
        const port = yield* listening(server)
        const proxies = [yield* proxy(), yield* proxy(), yield* proxy({ tls: true })]
        const [by, byAnother, bySecured] = proxies.map(({ port }) => ({
          proxy: { kind: "tcp", host: "localhost", port, tls: false } as const,
          mode: "auto" as const
        })) as [UpstreamTunnel, UpstreamTunnel, UpstreamTunnel]
        const { open } = yield* Upstreams
        const to: Address = { kind: "tcp", host: "localhost", port, tls: true }
        const trusting = { root: secure.cert.toString(), verify: "everything" } as const
        const call = (tunnel: UpstreamTunnel | undefined, tls: UpstreamOptions["tls"] = trusting) =>
          Effect.flatMap(open(to, { tls, tunnel }), ({ send }) =>
            Effect.andThen(send(upstreamRequest()), Effect.sleep(2))
          )
        yield* call(by)
        yield* call(by)
        assert.deepStrictEqual(resumed.splice(0), [false, true])
        const otherWays: ReadonlyArray<UpstreamTunnel | undefined> = [
          undefined,
          byAnother,
          { ...bySecured, tls: trusting },
          { ...bySecured, tls: { ...trusting, verify: "nothing" } },
          { ...by, mode: "connect" },
          { ...by, authorization: Redacted.make("Bearer one") },
          { ...by, authorization: Redacted.make("Bearer two") },
          { ...by, connectTimeout: 9_999 },
          { ...by, probes: "none" }
        ]
        for (const way of otherWays) yield* call(way)
        for (const tls of [
          { ...trusting, verify: "nothing" },
          { ...trusting, verify: "chain" }
        ] as const)
          yield* call(by, tls)
        assert.deepStrictEqual(resumed.splice(0), new Array(otherWays.length + 2).fill(false))
        for (const way of otherWays) yield* call(way)
        assert.deepStrictEqual(resumed, new Array(otherWays.length).fill(true))
        // Nobody who trusts others comes in with a session that was made without looking.
        const failed = yield* Effect.flip(call(by, { verify: "everything" }))
        assert.match(failed.message, /tls/)
      }).pipe(Effect.provide(upstreams()))
  )

  it.live("shares neither a connection nor a TLS session when any one field is another one", () =>
    Effect.gen(function* () {
      const fixture = (name: string) =>
        readFileSync(join(import.meta.dirname, "../../../test/http/fixtures", name), "utf8")
      const [cert, key] = [fixture("localhost.cert.pem"), fixture("localhost.key.pem")]
      const resumed: Array<boolean> = []
      const server = createServer({ key, cert }, (socket: TLSSocket) => {
        resumed.push(socket.isSessionReused())
        socket.on("error", () => {})
        socket.on("data", () => socket.write("HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok"))
      })
      yield* Effect.promise(() => new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve)))
      yield* Effect.addFinalizer(() => Effect.sync(() => server.close()))
      const { open } = yield* Upstreams
      const to: Address = { kind: "tcp", host: "localhost", port: portOf(server.address()), tls: true }
      const trusting = { root: cert, verify: "everything" } as const
      const client = { certificate: cert, key: Redacted.make(key) }
      /** Each differs in one field from the first, or from another one. */
      const options: ReadonlyArray<UpstreamOptions> = [
        ...[
          trusting,
          { ...trusting, root: `${cert}\n` },
          { ...trusting, hostname: "localhost" },
          { ...trusting, verify: "chain" },
          { ...trusting, verify: "nothing" },
          { ...trusting, names: ["localhost"] },
          { ...trusting, alpn: [] },
          { ...trusting, groups: ["P-256"] },
          { ...trusting, client },
          { ...trusting, client: { ...client, certificate: `${cert}\n` } },
          { ...trusting, client: { ...client, key: Redacted.make(`${key}\n`) } }
        ].map((tls) => ({ tls: tls as UpstreamOptions["tls"] })),
        { tls: trusting, version: "1.1" },
        { tls: trusting, connectTimeout: 9_999 },
        { tls: trusting, idleTimeout: 9_999 },
        { tls: trusting, maxConnections: 9 },
        { tls: trusting, probes: "none" },
        ...(["all", "v4"] as const).map((addresses) => ({ tls: trusting, addresses }))
      ]
      // Twice: whoever shared a pool would find the connection of another one in it.
      for (let round = 0; round < 2; round++)
        for (const option of options) {
          const { send } = yield* open(to, option)
          assert.strictEqual((yield* send(upstreamRequest())).status, 200)
          yield* Effect.sleep(2)
        }
      assert.deepStrictEqual(resumed, new Array(options.length).fill(false))
      for (const target of [
        { ...to, host: "127.0.0.1" },
        { ...to, host: "localhost." }
      ]) {
        const { send } = yield* open(target, { tls: { ...trusting, verify: "chain" } })
        yield* send(upstreamRequest())
      }
      assert.deepStrictEqual(resumed, new Array(options.length + 2).fill(false))
    }).pipe(Effect.provide(upstreams()))
  )
})
