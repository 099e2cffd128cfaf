import { assert, describe, it } from "@effect/vitest"
import { BodyAborted } from "../../src/http/body.ts"
import { NameUnresolved } from "../../src/services/names.ts"
import {
  ConnectionClosed,
  ConnectTimedOut,
  MalformedResponse,
  PoolClosed,
  PoolExhausted,
  UnreadableCoding,
  UnsendableRequest
} from "./client/failures.ts"
import { bodyError, callError } from "./upstream-errors.ts"

const system = (code: string, message = "connect to 10.0.0.1:80") => Object.assign(new Error(message), { code })

describe("errors of a call", () => {
  it.each([
    [system("ECONNREFUSED"), "upstream call failed: connection refused: ECONNREFUSED"],
    [new NameUnresolved({ code: "ENOTFOUND" }), "backends required DNS resolution which failed"],
    [new NameUnresolved({ code: "ECONNREFUSED" }), "backends required DNS resolution which failed"],
    [system("EHOSTUNREACH"), "upstream call failed: unreachable: EHOSTUNREACH"],
    [system("ECONNRESET"), "upstream call failed: reset: the connection was closed before there was a response"],
    [new ConnectionClosed(), "upstream call failed: reset: the connection was closed before there was a response"],
    [new MalformedResponse({ fault: "status line" }), "upstream call failed: protocol: the response is not HTTP/1.1"],
    [new UnsendableRequest({ part: "header value" }), "upstream call failed: request: the request cannot be sent"],
    [new PoolExhausted({ limit: "queue" }), "upstream call failed: busy: all connections to the backend are in use"],
    [new PoolClosed(), "upstream call failed: closed: the backend is no longer configured"],
    [
      system("ERR_TLS_CERT_ALTNAME_INVALID"),
      "upstream call failed: tls: the certificate of the backend is for another name (ERR_TLS_CERT_ALTNAME_INVALID)"
    ],
    [system("ERR_SSL_NOBODY_KNOWS"), "upstream call failed: tls: ERR_SSL_NOBODY_KNOWS"],
    [
      system("DEPTH_ZERO_SELF_SIGNED_CERT"),
      "upstream call failed: tls: the certificate of the backend is signed by itself (DEPTH_ZERO_SELF_SIGNED_CERT)"
    ],
    [system("EWEIRD"), "upstream call failed: other: EWEIRD"],
    [new Error("secret"), "upstream call failed: other: Error"],
    [new BodyAborted({ source: "client", detail: "gone" }), "upstream call failed: request body: gone"]
  ] as const)("%s", (error, message) => {
    const failure = callError(error, 10, "sent")
    assert.strictEqual(failure.message, message)
    assert.strictEqual(failure.status, 503)
  })

  it.each([new ConnectTimedOut(), system("ETIMEDOUT")])("%s is a timeout", (error) => {
    const failure = callError(error, 10, "sent")
    assert.deepStrictEqual(
      [failure._tag, failure.status, failure.message],
      ["UpstreamTimedOut", 504, "upstream call timeout"]
    )
  })

  it("a coding that cannot be undone is the backend's fault", () => {
    const failure = callError(new UnreadableCoding({ coding: "gzip" }), 10, "sent")
    assert.deepStrictEqual([failure._tag, failure.status], ["UnknownTransferCoding", 502])
  })

  it("what a client reads names no address", () => {
    for (const code of ["ECONNREFUSED", "ECONNRESET", "EWEIRD"])
      assert.notInclude(callError(system(code), 10, "sent").message, "10.0.0.1")
  })

  it("a body that breaks off is the backend's fault", () => {
    const error = bodyError(system("ECONNRESET"))
    assert.deepStrictEqual([error.source, error.message], ["backend", "body ended early: reset"])
  })
})
