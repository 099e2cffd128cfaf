import { assert, describe, it } from "@effect/vitest"
import { Cause, Effect, Exit } from "effect"
import { HeaderList } from "../http/header-list.ts"
import { RequestHead } from "../http/message.ts"
import type { Upstream } from "../services/upstreams.ts"
import { Exchange } from "./exchange.ts"
import { timeouts } from "./slots.ts"
import { callUpstream } from "./upstream-call.ts"

interface Limits {
  readonly request?: number
  readonly backend?: number
  readonly own?: number
}

/** How long a call may take that begins at 100 ms, 40 ms after its request came; and what it fails with. */
const timeoutOf = ({ request, backend, own }: Limits) => {
  const x = new Exchange(
    new RequestHead("GET", "http", "example.com", "/", new HeaderList()),
    undefined,
    { address: "127.0.0.1", port: 1, rawAddress: "127.0.0.1", rawPort: 1 },
    0,
    60
  )
  if (request !== undefined || backend !== undefined) x.set(timeouts, { request, backend })
  let asked: readonly [number, string] | undefined
  const upstream: Upstream = {
    send: ({ timeout }) => {
      const failure: unknown = timeout?.failure("sent")
      if (timeout !== undefined) asked = [timeout.milliseconds, failure instanceof Error ? failure.message : ""]
      return Effect.never
    }
  }
  const call = callUpstream(x, { called: 100 }, upstream, own)
  if (!Exit.isExit(call)) return asked
  const exit = call as Exit.Exit<unknown, Error>
  return Exit.isFailure(exit) ? `at once: ${(Cause.squash(exit.cause) as Error).message}` : exit.value
}

describe("how long a call may take", () => {
  it.each<readonly [Limits, readonly [number, string] | string | undefined]>([
    [{}, undefined],
    [{ backend: 50 }, [50, "upstream call timeout"]],
    [{ request: 90 }, [50, "request timeout"]],
    [{ request: 90, backend: 49 }, [49, "upstream call timeout"]],
    [{ request: 90, backend: 50 }, [50, "request timeout"]],
    [{ request: 90, backend: 51 }, [50, "request timeout"]],
    [{ backend: 50, own: 70 }, [70, "upstream call timeout"]],
    [{ backend: 50, own: 30 }, [30, "upstream call timeout"]],
    [{ request: 90, backend: 10, own: 70 }, [50, "request timeout"]],
    [{ request: 40, backend: 10 }, "at once: request timeout"],
    [{ request: 39 }, "at once: request timeout"],
    [{ backend: 0 }, "at once: upstream call timeout"]
  ])("%j: %j", (limits, expected) => {
    assert.deepStrictEqual(timeoutOf(limits), expected)
  })

  it.each<readonly [Limits, readonly [timeout: number | undefined, patience: number | undefined]]>([
    [{}, [undefined, undefined]],
    [{ backend: 50 }, [undefined, 50]],
    [{ request: 90 }, [50, undefined]],
    [{ request: 90, backend: 49 }, [50, 49]],
    [{ request: 90, backend: 50 }, [50, undefined]],
    [{ request: 90, backend: 51 }, [50, undefined]]
  ])("with a body on its way, %j: %j", ({ request, backend }, expected) => {
    const body = { start: () => {}, resume: () => {}, cancel: () => {} }
    const x = new Exchange(
      new RequestHead("POST", "http", "example.com", "/", new HeaderList()),
      body,
      { address: "127.0.0.1", port: 1, rawAddress: "127.0.0.1", rawPort: 1 },
      0,
      60
    )
    x.set(timeouts, { request, backend })
    let asked: ReadonlyArray<number | undefined> = []
    const upstream: Upstream = {
      send: ({ timeout, patience }) => {
        asked = [timeout?.milliseconds, patience?.milliseconds]
        return Effect.never
      }
    }
    callUpstream(x, { called: 100 }, upstream)
    assert.deepStrictEqual(asked, expected)
  })

  it("is told to whoever is called next, where the caller of gRPC tells it", () => {
    const headers = new HeaderList(["content-type", "application/grpc", "grpc-timeout", "1S"])
    const x = new Exchange(
      new RequestHead("POST", "http", "example.com", "/", headers),
      undefined,
      { address: "127.0.0.1", port: 1, rawAddress: "127.0.0.1", rawPort: 1 },
      0,
      60
    )
    let told: string | undefined
    const upstream: Upstream = {
      send: ({ headers }) => {
        told = headers.get("grpc-timeout")
        return Effect.never
      }
    }
    callUpstream(x, { called: 100 }, upstream)
    assert.strictEqual(told, "960000u")
  })
})
