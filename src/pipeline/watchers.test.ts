import { assert, describe, it } from "@effect/vitest"
import { HeaderList } from "../http/header-list.ts"
import { RequestHead } from "../http/message.ts"
import { Exchange } from "./exchange.ts"
import { Passage } from "./passage.ts"
import { type Subscription, Watchers } from "./watchers.ts"

const exchange = (path: string) =>
  new Exchange(
    new RequestHead("GET", "http", "example.com", path, new HeaderList()),
    undefined,
    { address: "192.0.2.1", port: 4000, rawAddress: "192.0.2.1", rawPort: 4000 },
    0,
    0
  )

/** Watchers whose time the test moves, and what they are told. */
const watching = () => {
  let now = 0
  const watchers = new Watchers({
    env: { podName: null, namespace: null, gateway: null },
    clock: () => now,
    locate: String
  })
  const told: Array<string> = []
  const subscribe = (name: string, rest: Partial<Subscription> = {}) =>
    watchers.subscribe({
      emit: ({ message }, request) => told.push(`${name} ${request} ${message.type}`),
      done: () => told.push(`${name} done`),
      ...rest
    })
  /** Serves a request to its end: three events, for whoever traces it. */
  const serve = (path: string) => {
    const x = exchange(path)
    const trace = watchers.claim(x)
    trace?.started(new Passage(x))
    x.finish({ status: 200, failure: undefined, bytes: 0 }, (cause) => {
      throw cause
    })
    return trace !== undefined
  }
  return {
    watchers,
    told,
    subscribe,
    serve,
    pass: (millis: number) => {
      now += millis
    }
  }
}

const of = (path: string) => (x: Exchange) => x.request.path === path
const events = (name: string, request: number) =>
  ["requestStarted", "requestSnapshot", "requestFinished"].map((type) => `${name} ${request} ${type}`)

describe("watchers", () => {
  it("wait for one request each, in the order in which they came", () => {
    const { watchers, told, subscribe, serve } = watching()
    assert.isFalse(watchers.waiting)
    subscribe("a")
    subscribe("b")
    assert.isTrue(watchers.waiting)
    assert.deepStrictEqual([serve("/"), serve("/"), serve("/")], [true, true, false])
    assert.deepStrictEqual(told, [...events("a", 1), "a done", ...events("b", 2), "b done"])
    assert.isFalse(watchers.waiting)
  })

  it("leave alone what they do not want, and can be taken back", () => {
    const { watchers, told, subscribe, serve } = watching()
    subscribe("a", { wants: of("/a") })
    const takeBack = subscribe("b")
    takeBack()
    assert.isFalse(serve("/b"))
    assert.isTrue(serve("/a"))
    assert.deepStrictEqual(told, [...events("a", 1), "a done"])

    const leave = subscribe("c", { follow: { eventsPerSecond: 9 } })
    assert.isTrue(watchers.waiting)
    leave()
    assert.isFalse(watchers.waiting)
    assert.isFalse(serve("/"))
  })

  it("who follows is never done, gets what it wants, and leaves one request to those who wait", () => {
    const { told, subscribe, serve } = watching()
    subscribe("all", { follow: { eventsPerSecond: 100 }, wants: of("/a") })
    subscribe("one")
    assert.deepStrictEqual([serve("/a"), serve("/b"), serve("/a"), serve("/a")], [true, false, true, true])
    assert.deepStrictEqual(told, [...events("one", 1), "one done", ...events("all", 2), ...events("all", 3)])
  })

  it("who follows gets so many events in a second and no more", () => {
    const { told, subscribe, serve, pass } = watching()
    subscribe("all", { follow: { eventsPerSecond: 4 } })
    assert.deepStrictEqual([serve("/"), serve("/"), serve("/")], [true, true, false])
    assert.deepStrictEqual(told.splice(0), [...events("all", 1), "all 2 requestStarted"])
    pass(999)
    assert.isFalse(serve("/"))
    pass(1)
    assert.isTrue(serve("/"))
    assert.deepStrictEqual(told, events("all", 3))
  })
})
