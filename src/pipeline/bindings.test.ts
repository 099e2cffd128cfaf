import { assert, describe, it } from "@effect/vitest"
import { Effect, Result } from "effect"
import { compile, type Phase, toJson } from "../cel/expression.ts"
import type { Body, BodySink } from "../http/body.ts"
import { HeaderList } from "../http/header-list.ts"
import { RequestHead } from "../http/message.ts"
import { KeyBearer, TokenBearer } from "./authentication/identity.ts"
import { Exchange } from "./exchange.ts"
import { Passage } from "./passage.ts"
import type { Backend, Listener, Route } from "./route.ts"
import * as slots from "./slots.ts"

const exchange = (body?: Body) =>
  new Exchange(
    new RequestHead("POST", "https", "example.com:8443", "/a/b?c=d", new HeaderList(["x-one", "1", "x-two", "2"])),
    body,
    { address: "192.0.2.1", port: 4000, rawAddress: "192.0.2.9", rawPort: 9 },
    Date.parse("2026-01-01T00:00:00Z"),
    100
  )

/** What an expression yields, as JSON. */
const value = (x: Exchange, source: string, phase: Phase = "log") =>
  toJson(Result.getOrThrow(compile(source, { phase })).evaluate(x.variables) as never)

const streaming = (chunks: Array<Uint8Array>): Body => {
  let sink: BodySink
  const resume = () => {
    while (chunks.length > 0) if (!sink.data(chunks.shift()!)) return
    sink.end()
  }
  return {
    start: (to) => {
      sink = to
      resume()
    },
    resume,
    cancel: () => {}
  }
}

describe("variables of an exchange", () => {
  it.each([
    ["request.method", '"POST"'],
    ["request.scheme", '"https"'],
    ["request.host", '"example.com:8443"'],
    ["request.path", '"/a/b"'],
    ["request.pathAndQuery", '"/a/b?c=d"'],
    ["request.uri", '"https://example.com:8443/a/b?c=d"'],
    ["request.version", '"HTTP/1.1"'],
    ['request.headers["x-two"]', '"2"'],
    ["request.startTime == timestamp('2026-01-01T00:00:00Z')", "true"],
    ["[source.address, source.rawAddress]", '["192.0.2.1","192.0.2.9"]'],
    ["[source.port, source.rawPort]", "[4000,9]"],
    ["[jwt == null, apiKey == null, response == null, backend == null]", "[true,true,true,true]"],
    ["has(proxy.route.name)", "false"]
  ])("%s is %s", (source, expected) => {
    assert.strictEqual(value(exchange(), source), expected)
  })

  it("are live: an expression sees what policies changed", () => {
    const x = exchange()
    const { variables } = x
    x.request.pathAndQuery = "/other"
    x.request.headers.set("x-one", "3")
    x.response = { status: 204, headers: new HeaderList(["grpc-status", "5"]), body: undefined }
    x.set(slots.jwt, new TokenBearer({ sub: "ada", roles: ["admin"] }, "ey.the.token"))
    x.set(slots.apiKey, new KeyBearer({ user: "ada" }, "s3cret"))
    assert.strictEqual(x.variables, variables, "made once")
    assert.strictEqual(value(x, '[request.path, request.headers["x-one"]]'), '["/other","3"]')
    assert.strictEqual(value(x, "[response.code, response.grpcStatus]"), "[204,5]")
    assert.strictEqual(value(x, "[jwt.sub, jwt.roles[0], string(jwt.rawToken)]"), '["ada","admin","<redacted>"]')
    assert.strictEqual(value(x, "[apiKey.user, apiKey.key.unredacted()]"), '["ada","s3cret"]')
  })

  it("know the places that the request has come to", () => {
    const x = exchange()
    const passage = new Passage(x)
    passage.listener = { name: "web", bind: "bind/80", gateway: "default/edge" } as Listener
    passage.route = { name: "route0", namespace: "default", rule: "r" } as Route
    passage.backend = { name: "b", type: "static", protocol: "http" } as Backend
    passage.called = 101.5
    passage.answered = 103
    x.settings = { ...x.settings, env: { podName: "pod-1", namespace: null, gateway: "edge" } }
    assert.strictEqual(
      value(x, "[proxy.bind, proxy.gateway.namespace, proxy.gateway.name, proxy.listener.name, proxy.route.name]"),
      '["bind/80","default","edge","web","route0"]'
    )
    assert.strictEqual(value(x, "[backend.name, backend.type, backend.protocol]"), '["b","static","http"]')
    assert.strictEqual(value(x, "[proxy.requestProcessingDuration, proxy.upstreamDuration]"), '["0.0015s","0.0015s"]')
    assert.strictEqual(value(x, "[env.podName, env.gateway]"), '["pod-1","edge"]')
    assert.strictEqual(value(x, "env.namespace == null"), "true")
  })

  it.effect("hold a body as far as it was read", () =>
    Effect.gen(function* () {
      assert.strictEqual(value(exchange(), "size(request.body)"), "0")
      assert.strictEqual(value(exchange("täxt"), "string(request.body)"), '"täxt"')

      const small = exchange(streaming([Uint8Array.from([65, 66]), Uint8Array.from([67])]))
      assert.strictEqual(value(small, "request.body == null"), "true")
      yield* small.readRequestBody()
      assert.strictEqual(value(small, "[string(request.body), string(request.bodyPrefix)]"), '["ABC","ABC"]')

      const large = exchange(streaming([Uint8Array.from([65, 66]), Uint8Array.from([67])]))
      assert.strictEqual(Buffer.from(yield* large.readRequestPrefix(2)).toString(), "AB")
      assert.strictEqual(value(large, "[request.body == null, string(request.bodyPrefix) == 'AB']"), "[true,true]")
      // Nothing of it is lost to whoever reads it whole.
      assert.strictEqual(Buffer.from(yield* large.readRequestBody()).toString(), "ABC")
    })
  )

  it.effect("hold as many whole characters of a longer body as the limit takes", () =>
    Effect.gen(function* () {
      const text = "aé€😀z"
      const whole = Buffer.from(text)
      for (let limit = 0; limit < whole.length; limit++) {
        let known = ""
        for (const character of text) {
          if (Buffer.byteLength(known + character) > limit) break
          known += character
        }
        const x = exchange(streaming([whole]))
        assert.strictEqual(Buffer.from(yield* x.readRequestPrefix(limit)).toString(), known, `${limit} bytes`)
      }
    })
  )
})
