/**
 * Slow and flooding clients: many connections that ask for nothing, say everything slowly, or take nothing of what they
 * get. Each is closed when its time is up, and meanwhile everybody else is answered at once.
 */
import { Effect } from "effect"
import { httpBackend, portOf } from "../http/edge.ts"
import { RawClient } from "../http/raw-client.ts"
import { attack, type Trial } from "./attack.ts"
import { attacked, wellRoute } from "./gateway.ts"

interface Flood {
  readonly title: string
  /** How many connections do this at once. */
  readonly clients: number
  /** What each sends at once. */
  readonly send?: string
  /** What each sends again and again, and every how many milliseconds. */
  readonly drip?: readonly [text: string, every: number]
  /** Takes nothing of what comes. */
  readonly deaf?: boolean
  /** It says that nothing more comes, and waits. */
  readonly ends?: boolean
  /** They hang up by themselves, after so many milliseconds. */
  readonly leaves?: number
  /** It goes on for as long as it moves: nobody closes it. */
  readonly endless?: boolean
}

const head = "GET /well HTTP/1.1\r\nHost: a\r\n"
const post = "POST /upload HTTP/1.1\r\nHost: a\r\n"

const floods: ReadonlyArray<Flood> = [
  { title: "says nothing", clients: 300 },
  { title: "one byte", clients: 300, send: "G" },
  { title: "a request line without an end", clients: 100, send: "GET /" },
  { title: "a head without an end", clients: 300, send: head },
  { title: "a head, one line at a time", clients: 100, send: head, drip: ["X: y\r\n", 40] },
  { title: "a head, one byte at a time", clients: 100, drip: ["G", 30] },
  { title: "a header's value, one byte at a time", clients: 100, send: `${head}X: `, drip: ["x", 30] },
  { title: "empty lines for ever", clients: 50, drip: ["\r\n", 30] },
  { title: "half of a CRLF", clients: 50, send: `${head}\r` },
  { title: "a head of 60 KiB that stops", clients: 50, send: `${head}X: ${"x".repeat(60_000)}` },
  { title: "99 header lines that stop", clients: 50, send: head + "X: y\r\n".repeat(98) },
  { title: "a body that does not come", clients: 200, send: `${post}Content-Length: 10\r\n\r\n` },
  { title: "a body that stops", clients: 200, send: `${post}Content-Length: 10\r\n\r\nabc` },
  { title: "chunks that do not come", clients: 100, send: `${post}Transfer-Encoding: chunked\r\n\r\n` },
  { title: "a chunk that stops", clients: 100, send: `${post}Transfer-Encoding: chunked\r\n\r\nff\r\nabc` },
  { title: "a chunk's size that stops", clients: 100, send: `${post}Transfer-Encoding: chunked\r\n\r\nf` },
  { title: "chunks without a last one", clients: 100, send: `${post}Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n` },
  { title: "trailers that stop", clients: 100, send: `${post}Transfer-Encoding: chunked\r\n\r\n0\r\nX: y\r\n` },
  {
    title: "an expectation, and no body",
    clients: 100,
    send: `${post}Expect: 100-continue\r\nContent-Length: 9\r\n\r\n`
  },
  { title: "a huge length, and no body", clients: 100, send: `${post}Content-Length: 99999999999\r\n\r\n` },
  {
    title: "a body, one byte at a time",
    clients: 30,
    send: `${post}Content-Length: 9999\r\n\r\n`,
    drip: ["x", 50],
    leaves: 1200,
    endless: true
  },
  {
    title: "a chunk at a time",
    clients: 30,
    send: `${post}Transfer-Encoding: chunked\r\n\r\n`,
    drip: ["1\r\nx\r\n", 50],
    leaves: 1200,
    endless: true
  },
  { title: "an answer that nobody takes", clients: 10, send: "GET /big HTTP/1.1\r\nHost: a\r\n\r\n", deaf: true },
  {
    title: "many answers that nobody takes",
    clients: 10,
    send: "GET /big HTTP/1.1\r\nHost: a\r\n\r\n".repeat(20),
    deaf: true
  },
  { title: "small answers that nobody takes", clients: 10, send: `${head}\r\n`.repeat(500), deaf: true },
  { title: "kept, and silent afterwards", clients: 300, send: `${head}\r\n` },
  { title: "kept, and half of a next request", clients: 200, send: `${head}\r\n${head}` },
  { title: "1,000 requests at once on each", clients: 4, send: `${head}\r\n`.repeat(1_000), leaves: 1500 },
  { title: "garbage", clients: 300, send: "\x16\x03\x01\0\0" },
  { title: "garbage for ever", clients: 100, drip: ["\0\0\0\0", 30] },
  { title: "comes and goes", clients: 500, leaves: 0 },
  { title: "asks and goes", clients: 300, send: `${head}\r\n`, leaves: 0 },
  {
    title: "uploads and goes",
    clients: 200,
    send: `${post}Content-Length: 100000\r\n\r\n${"x".repeat(5_000)}`,
    leaves: 20
  },
  {
    title: "asks for what takes long, and goes",
    clients: 100,
    send: "GET /never HTTP/1.1\r\nHost: a\r\n\r\n",
    leaves: 100
  },
  { title: "half-closes and waits", clients: 100, send: `${post}Content-Length: 10\r\n\r\nabc`, ends: true }
]

/** The time that a head may take, and a connection may be idle, in milliseconds. */
const limit = 500
/** The sweep that closes them comes around a few times in that time; the rest is for a busy machine. */
const grace = 6_000
/** How much more memory the floods that go on at once may take. */
const allowance = 256 << 20

const open = Effect.gen(function* () {
  const big = Buffer.alloc(1 << 20, "x")
  const server = yield* httpBackend((request, response) => {
    if (request.url === "/never") return
    if (request.url !== "/big") {
      request.resume().on("end", () => response.end("done"))
      return
    }
    let left = 64
    const more = () => {
      while (left-- > 0) if (!response.write(big)) return void response.once("drain", more)
      response.end()
    }
    more()
  })
  const backend = `127.0.0.1:${portOf(server.address())}`
  const { port, well } = yield* attacked(`
gateways: { default: { port: 8080 } }
frontendPolicies: { http: { http1IdleTimeout: ${limit}ms } }
routes:
  - ${wellRoute}
  - { backends: [{ host: "${backend}" }] }
`)
  const trial: Trial<Flood> = ({ clients, send = "", drip, deaf = false, ends = false, leaves, endless = false }) =>
    Effect.promise(async () => {
      const before = process.memoryUsage().rss
      const all = Array.from({ length: clients }, () => {
        const client = new RawClient(port)
        if (deaf) client.socket.pause()
        client.send(send)
        if (ends) client.socket.end()
        return client
      })
      const timer =
        drip === undefined
          ? undefined
          : setInterval(() => {
              for (const client of all) if (client.socket.writable) client.send(drip[0])
            }, drip[1])
      try {
        await well()
        if (leaves !== undefined) {
          await new Promise((resolve) => setTimeout(resolve, leaves))
          if (endless && all.some(({ ended, closed }) => ended || closed)) throw new Error("cut though it moved")
          for (const { socket } of all) socket.destroy()
        }
        const deadline = performance.now() + limit + grace
        // Whoever does not read does not see the end: it notices when it is reset or written to.
        const over = ({ ended, closed, socket }: RawClient) => ended || closed || socket.destroyed
        while (!all.every(over)) {
          if (deaf) for (const { socket } of all) socket.write("x")
          if (performance.now() > deadline)
            throw new Error(`${all.filter((client) => !over(client)).length} of ${clients} are still open`)
          await new Promise((resolve) => setTimeout(resolve, 20))
        }
        await well()
        const grown = process.memoryUsage().rss - before
        if (grown > allowance) throw new Error(`took ${grown >> 20} MiB`)
      } finally {
        clearInterval(timer)
        for (const { socket } of all) socket.destroy()
      }
    })
  return trial
})

export const slowClients = attack<Flood>({
  class: "slow and flooding clients",
  name: "slow and flooding clients",
  proves: "whoever is slow is closed in time, and nobody else waits for it",
  cases: floods,
  open,
  together: 5
})
