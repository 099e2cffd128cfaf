import { request } from "node:http"
import type { Socket } from "node:net"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { HeldBytes } from "../../src/http/held-bytes.ts"
import type { Plan } from "../../src/pipeline/attempts.ts"
import { tcpBackend, upstreamTo } from "./edge.ts"
import { planned, thrice } from "./planned.ts"
import { RawClient } from "./raw-client.ts"

/** What a backend does with a request, as soon as its head is there, or all of it. */
interface Behaviour {
  readonly when: "head" | "whole"
  readonly does: (socket: Socket, received: string) => void
}

const says = (text: string) => (socket: Socket) => {
  socket.write(text)
}
const answersWith = (status: string, more = "") => says(`HTTP/1.1 ${status}\r\n${more}content-length: 4\r\n\r\nlate`)

const faults: Readonly<Record<string, Behaviour>> = {
  "resets at the head": { when: "head", does: (socket) => socket.resetAndDestroy() },
  "closes behind the request": { when: "whole", does: (socket) => socket.destroy() },
  "breaks off in its head": { when: "whole", does: (socket) => socket.end("HTTP/1.1 200 OK\r\nx-a: ") },
  "does not speak HTTP": { when: "whole", does: says("SSH-2.0-x\r\n\r\n") },
  "answers 503": { when: "whole", does: answersWith("503 no", "x-left: 1\r\n") },
  "answers 503 at the head": { when: "head", does: answersWith("503 no", "x-left: 1\r\nconnection: close\r\n") },
  "answers 503 without an end": { when: "whole", does: says("HTTP/1.1 503 no\r\nx-left: 1\r\n\r\nand on") },
  "gives a hint, then answers 503": {
    when: "whole",
    does: says("HTTP/1.1 103 hint\r\nx-left: 1\r\n\r\nHTTP/1.1 503 no\r\ncontent-length: 0\r\n\r\n")
  }
}

const lengthOf = (head: string) => Number(/^content-length: (\d+)/im.exec(head)?.[1] ?? 0)
/** The body, once all of it is there. */
const wholeBody = (received: string): string | undefined => {
  const end = received.indexOf("\r\n\r\n")
  if (end < 0) return undefined
  const rest = received.slice(end + 4)
  if (!/^transfer-encoding: chunked/im.test(received.slice(0, end)))
    return rest.length >= lengthOf(received) ? rest : undefined
  if (!rest.endsWith("0\r\n\r\n")) return undefined
  let body = ""
  for (let at = 0; ; ) {
    const line = rest.indexOf("\r\n", at)
    const size = Number.parseInt(rest.slice(at, line), 16)
    if (size === 0) return body
    body += rest.slice(line + 2, line + 2 + size)
    at = line + 2 + size + 2
  }
}

/** Meets each request with the next of these, and those after them with its length and an echo of its beginning. */
const backend = (behaviours: ReadonlyArray<Behaviour>) => {
  const requests: Array<string> = []
  let next = 0
  return Effect.map(
    tcpBackend((socket) => {
      let received = ""
      let behaviour: Behaviour | undefined
      let number = -1
      socket.on("data", (bytes) => {
        received += bytes.toString("latin1")
        if (!received.includes("\r\n\r\n")) return
        if (number < 0) {
          number = next++
          behaviour = behaviours[number]
          requests.push("")
          if (behaviour?.when === "head") behaviour.does(socket, received)
        }
        requests[number] = received
        const body = wholeBody(received)
        if (body === undefined) return
        const answered = received
        received = ""
        number = -1
        if (behaviour?.when === "whole") behaviour.does(socket, answered)
        else if (behaviour === undefined) {
          const echo = `${body.length} ${body.slice(0, 5)}`
          socket.write(`HTTP/1.1 200 OK\r\ncontent-length: ${echo.length}\r\n\r\n${echo}`)
        }
      })
    }),
    ({ port }) => ({ port, requests })
  )
}

const proxy = (port: number, plan: Plan, heldBytes?: HeldBytes) =>
  Effect.flatMap(upstreamTo(port), (upstream) => planned([upstream], plan, heldBytes))

interface Said {
  readonly status: number
  readonly body: string
  readonly left: boolean
}

/** Sends a body in one piece, or in chunks of 8 KiB. */
const ask = (port: number, body: string | undefined, streamed: boolean): Promise<Said> =>
  new Promise((resolve, reject) => {
    const method = body === undefined ? "GET" : "POST"
    const headers = body === undefined || streamed ? {} : { "content-length": body.length }
    const asked = request({ host: "127.0.0.1", port, method, path: "/", headers, agent: false }, (response) => {
      let text = ""
      response.on("data", (chunk) => {
        text += chunk
        // What has no end is not waited for.
        if (text.endsWith("and on")) response.destroy()
      })
      response.on("close", () =>
        resolve({ status: response.statusCode ?? 0, body: text, left: response.headers["x-left"] !== undefined })
      )
      response.on("error", () => {})
    })
    asked.on("error", reject)
    if (body !== undefined && streamed) for (let i = 0; i < body.length; i += 8192) asked.write(body.slice(i, i + 8192))
    asked.end(streamed ? undefined : body)
  })

const small = "small body"
const kept = "kept ".repeat(10_000)
const long = "long ".repeat(60_000)

describe("attempts at a backend", () => {
  for (const [fault, behaviour] of Object.entries(faults))
    for (const times of [1, 2])
      for (const [what, body, streamed] of [
        ["no body", undefined, false],
        ["a small body", small, false],
        ["a body in chunks", kept, true]
      ] as const)
        it.live(
          `${what}: a backend that ${fault} (${times}) is asked again, with the whole request and nothing else`,
          () =>
            Effect.gen(function* () {
              const { port, requests } = yield* backend(Array.from({ length: times }, () => behaviour))
              const made = yield* proxy(port, thrice)
              const said = yield* Effect.promise(() => ask(made.port, body, streamed))
              const expected = `${body?.length ?? 0} ${(body ?? "").slice(0, 5)}`
              assert.deepStrictEqual(said, { status: 200, body: expected, left: false })
              assert.strictEqual(requests.length, times + 1)
              for (const each of requests) assert.match(each, /^x-attempt: 1\r$/m)
              assert.strictEqual(made.heldBytes.held, 0)
              assert.deepStrictEqual(made.defects, [])
            })
        )

  it.live.each(Object.entries(faults))("a client is told what the last of them came to: %s", ([_, behaviour]) =>
    Effect.gen(function* () {
      const { port, requests } = yield* backend([behaviour, behaviour, behaviour, behaviour])
      const made = yield* proxy(port, thrice)
      assert.strictEqual((yield* Effect.promise(() => ask(made.port, undefined, false))).status, 503)
      assert.strictEqual(requests.length, 3)
    })
  )

  it.live("a body that is longer than what is kept is sent once", () =>
    Effect.gen(function* () {
      const { port, requests } = yield* backend([faults["answers 503"]!])
      const made = yield* proxy(port, thrice)
      const said = yield* Effect.promise(() => ask(made.port, long, true))
      assert.deepStrictEqual([said.status, requests.length], [503, 1])
      assert.strictEqual(made.heldBytes.held, 0)
    })
  )

  it.live("without room in the budget of the process a body is sent once, and as it is", () =>
    Effect.gen(function* () {
      const { port, requests } = yield* backend([faults["answers 503"]!])
      const made = yield* proxy(port, { ...thrice, keeps: 1_000_000 }, new HeldBytes(100_000))
      const said = yield* Effect.promise(() => ask(made.port, long, true))
      assert.deepStrictEqual([said.status, requests.length], [503, 1])
      const after = yield* Effect.promise(() => ask(made.port, long, true))
      assert.deepStrictEqual([after.status, after.body], [200, `${long.length} long `])
    })
  )

  it.live("an answer that has begun to leave is not asked for again", () =>
    Effect.gen(function* () {
      const cut: Behaviour = {
        when: "whole",
        does: (socket) => socket.end("HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\nhalf")
      }
      const { port, requests } = yield* backend([cut])
      const made = yield* proxy(port, { attempts: 3, again: ({ error }) => (error === undefined ? undefined : 0) })
      const client = new RawClient(made.port)
      client.send("GET / HTTP/1.1\r\nhost: a\r\n\r\n")
      yield* Effect.promise(() => client.until(() => client.closed || client.ended))
      assert.match(client.text, /^HTTP\/1\.1 200 OK[\s\S]*half$/)
      assert.strictEqual(requests.length, 1)
    })
  )

  it.live("what a backend says on the way to an answer that nobody gets stays behind", () =>
    Effect.gen(function* () {
      const hinting: Behaviour = {
        when: "whole",
        does: says("HTTP/1.1 103 hint\r\nx-third: 1\r\n\r\nHTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n")
      }
      const fault = faults["gives a hint, then answers 503"]!
      const { port } = yield* backend([fault, fault, hinting])
      const made = yield* proxy(port, thrice)
      const client = new RawClient(made.port)
      client.send("GET / HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n")
      yield* Effect.promise(() => client.until(() => client.closed || client.ended))
      assert.notMatch(client.text, /x-left/)
      assert.match(client.text, /^HTTP\/1\.1 103[\s\S]*x-third: 1[\s\S]*HTTP\/1\.1 200 OK/)
    })
  )

  it.live("a wish to change the protocol is sent once, if anything of it was sent", () =>
    Effect.gen(function* () {
      const { port, requests } = yield* backend([faults["closes behind the request"]!])
      const made = yield* proxy(port, thrice)
      const client = new RawClient(made.port)
      client.send("GET / HTTP/1.1\r\nhost: a\r\nconnection: upgrade\r\nupgrade: echo\r\n\r\n")
      yield* Effect.promise(() => client.until(() => /^HTTP\/1\.1 503/.test(client.text)))
      assert.strictEqual(requests.length, 1)
    })
  )

  it.live("nobody listens: nothing was sent, and all three fail", () =>
    Effect.gen(function* () {
      const reached: Array<string | undefined> = []
      const made = yield* proxy(1, {
        attempts: 3,
        again: (ended) => {
          reached.push(ended.reached)
          return 1
        }
      })
      assert.strictEqual((yield* Effect.promise(() => ask(made.port, small, false))).status, 503)
      assert.deepStrictEqual(reached, ["nothing sent", "nothing sent"])
    })
  )

  it.live("a client that goes away between two of them ends them", () =>
    Effect.gen(function* () {
      const { port, requests } = yield* backend([faults["answers 503"]!])
      const made = yield* proxy(port, { attempts: 3, again: () => 200 })
      const client = new RawClient(made.port)
      client.send("GET / HTTP/1.1\r\nhost: a\r\n\r\n")
      yield* Effect.promise(async () => {
        while (requests.length === 0) await new Promise(setImmediate)
      })
      yield* Effect.sleep(20)
      client.socket.destroy()
      yield* Effect.sleep(300)
      assert.strictEqual(requests.length, 1)
    })
  )
})
