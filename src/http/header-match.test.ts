import { assert, describe, it } from "@effect/vitest"
import { Result } from "effect"
import { HeaderList } from "./header-list.ts"
import { compileHeaderMatch, type ValueMatch } from "./header-match.ts"
import { RequestHead } from "./message.ts"

const request = () =>
  new RequestHead(
    "GET",
    "https",
    "shop.example:8443",
    "/a?b=c",
    new HeaderList(["x-team", "Blue", "x-team", "green", "x-empty", ""])
  )

describe("a condition on headers", () => {
  it.each<readonly [name: string, value: ValueMatch, holds: boolean]>([
    ["x-team", { exact: "Blue" }, true],
    ["X-Team", { exact: "Blue" }, true],
    ["x-team", { exact: "green" }, true],
    ["x-team", { exact: "blue" }, false],
    ["x-team", { exact: "Blue,green" }, false],
    ["x-team", { regex: "B.*" }, true],
    ["x-team", { regex: "gre" }, false],
    ["x-empty", { exact: "" }, true],
    ["x-missing", { exact: "" }, false],
    ["x-missing", { regex: ".*" }, false],
    ["blue", { exact: "x-team" }, false],
    [":method", { exact: "GET" }, true],
    [":method", { exact: "get" }, false],
    [":path", { exact: "/a?b=c" }, true],
    [":path", { exact: "/A?b=c" }, false],
    [":scheme", { exact: "https" }, true],
    [":authority", { exact: "Shop.Example:8443" }, true],
    ["Host", { exact: "SHOP.example:8443" }, true],
    ["host", { exact: "shop.example" }, false],
    ["host", { regex: "shop\\.example(:\\d+)?" }, true],
    [":authority", { regex: "Shop.*" }, false]
  ])("%s like %j: %s", (name, value, holds) => {
    assert.strictEqual(Result.getOrThrow(compileHeaderMatch({ name, value }))(request()), holds)
  })

  it("that cannot be compiled says where it is wrong", () => {
    const path = (name: string, value: ValueMatch) =>
      Result.getOrThrow(Result.flip(compileHeaderMatch({ name, value }))).path
    assert.deepStrictEqual(path("no name", { exact: "a" }), ["name"])
    assert.deepStrictEqual(path(":status", { exact: "a" }), ["name"])
    assert.deepStrictEqual(path("host", { regex: "(" }), ["value", "regex"])
  })
})
