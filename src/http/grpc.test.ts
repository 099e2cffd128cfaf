import { assert, describe, it } from "@effect/vitest"
import { Schema } from "effect"
import { formatGrpcTimeout, grpcTimeoutOf, parseGrpcTimeout, passGrpcTimeout } from "./grpc.ts"
import { HeaderList } from "./header-list.ts"

describe("the time that a caller of gRPC waits", () => {
  it.each<readonly [string, number | undefined]>([
    ["1H", 3_600_000],
    ["2M", 120_000],
    ["3S", 3000],
    ["4m", 4],
    ["5u", 0.005],
    ["6n", 0.000006],
    ["0n", 0],
    ["007S", 7000],
    ["99999999H", 99_999_999 * 3_600_000],
    ["100000000n", undefined],
    ["", undefined],
    ["S", undefined],
    ["1", undefined],
    ["1s", undefined],
    ["1h", undefined],
    ["1ms", undefined],
    ["-1S", undefined],
    ["+1S", undefined],
    ["1.5S", undefined],
    [" 1S", undefined],
    ["1S ", undefined],
    ["1 S", undefined],
    ["1e3S", undefined],
    ["0x1S", undefined],
    ["١S", undefined],
    ["1S,2S", undefined]
  ])("%s: %s ms", (text, milliseconds) => {
    const read = parseGrpcTimeout(text)
    if (milliseconds === undefined) assert.isUndefined(read)
    else assert.closeTo(read!, milliseconds, milliseconds * 1e-12)
  })

  const anyTime = Schema.Finite.check(Schema.isBetween({ minimum: 0, maximum: 1e14 }))
  // Eight digits of a unit that is a thousand times another one: the first number of them that needs the larger unit has five digits.
  it.prop(
    "is told as what can be read again, never more, and to one part in a hundred thousand",
    [anyTime],
    ([time]) => {
      const again = parseGrpcTimeout(formatGrpcTimeout(time))!
      assert.isAtMost(again, time * (1 + 1e-12))
      assert.isAtLeast(again, time * (1 - 1e-5) - 1e-6)
    }
  )

  const headers = (...lines: ReadonlyArray<string>) => new HeaderList([...lines])
  const grpc = ["content-type", "application/grpc+proto"]

  it("is that of a request of gRPC alone, in one line", () => {
    assert.strictEqual(grpcTimeoutOf("POST", headers(...grpc, "grpc-timeout", "2S")), 2000)
    assert.strictEqual(grpcTimeoutOf("POST", headers(...grpc, "grpc-timeout", "2s")), "malformed")
    assert.strictEqual(grpcTimeoutOf("POST", headers(...grpc, "grpc-timeout", "")), "malformed")
    assert.strictEqual(grpcTimeoutOf("POST", headers(...grpc, "grpc-timeout", "2S", "grpc-timeout", "2S")), "malformed")
    assert.isUndefined(grpcTimeoutOf("POST", headers(...grpc)))
    assert.isUndefined(grpcTimeoutOf("GET", headers(...grpc, "grpc-timeout", "2S")))
    assert.isUndefined(grpcTimeoutOf("POST", headers("content-type", "application/json", "grpc-timeout", "soon")))
  })

  it("is passed on as what is left of it", () => {
    const passed = (milliseconds: number) => {
      const list = headers(...grpc, "grpc-timeout", "2S")
      passGrpcTimeout(list, milliseconds)
      return list.getAll("grpc-timeout")
    }
    assert.deepStrictEqual(passed(1500), ["1500000u"])
    assert.deepStrictEqual(passed(3_540_000), ["3540000m"])
    assert.deepStrictEqual(passed(-1), ["0n"])
  })
})
