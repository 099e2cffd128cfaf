/** What is taken of a request before anybody reads it. */
import { assert, describe, it } from "@effect/vitest"
import { RequestBody } from "./request-body.ts"

describe("the body of a request that nobody reads yet", () => {
  it.each([1, 100, 10_000])("is full by the memory that it takes, in chunks of %s bytes too", (size) => {
    const body = new RequestBody({
      wanted: () => {},
      released: () => {},
      contain: (cause) => {
        throw cause
      }
    })
    let chunks = 0
    for (; !body.full; chunks++) body.take(Buffer.alloc(size, "x"))
    assert.isAtMost(chunks, 256)
    let given = 0
    let ended = false
    body.end(undefined)
    body.start({
      data: ({ length }) => {
        given += length
        return true
      },
      end: () => {
        ended = true
      },
      fail: () => {}
    })
    assert.deepStrictEqual([given, ended], [chunks * size, true])
  })
})
