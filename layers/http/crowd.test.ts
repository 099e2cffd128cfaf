/** How many connections are taken, of all and of one. */
import { assert, describe, it } from "@effect/vitest"
import { Crowd, clientOf } from "./crowd.ts"

describe("a crowd", () => {
  it("is bounded as a whole, and each client in it", () => {
    const crowd = new Crowd({ most: 3, mostOfAddress: 2 })
    const enter = (address: string) => crowd.enter(address) ?? "in"
    assert.deepStrictEqual(
      [enter("10.0.0.1"), enter("10.0.0.1"), enter("10.0.0.1"), enter("10.0.0.2"), enter("10.0.0.3")],
      ["in", "in", "TooManyOfAddress", "in", "TooManyConnections"]
    )
    crowd.leave("10.0.0.1")
    assert.deepStrictEqual([enter("10.0.0.1"), crowd.size], ["in", 3])
  })

  it("on a Unix socket nobody has an address", () => {
    const crowd = new Crowd({ most: 3, mostOfAddress: 1 })
    assert.deepStrictEqual([crowd.enter(""), crowd.enter("")], [undefined, undefined])
    crowd.leave("")
    assert.strictEqual(crowd.size, 1)
  })

  it("one client of IPv6 has a network", () => {
    for (const [one, other] of [
      ["2001:db8:1:2::1", "2001:db8:1:2:ffff::9"],
      ["2001:db8::1", "2001:db8:0:0:7::"],
      ["fe80::1%eth0", "fe80::2"],
      ["::1", "::2"]
    ] as const)
      assert.strictEqual(clientOf(one), clientOf(other))
    for (const [one, other] of [
      ["2001:db8:1:2::1", "2001:db8:1:3::1"],
      ["2001:db8::1", "2001:db9::1"],
      ["10.0.0.1", "10.0.0.2"],
      ["1:2:3::5:6:7:8", "1:2:3:5::"]
    ] as const)
      assert.notStrictEqual(clientOf(one), clientOf(other))
  })
})
