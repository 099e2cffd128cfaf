/**
 * Clients that hold what others need: connections that stop in the middle of a request, and anonymous MCP clients that
 * begin sessions and children. While each of them tries, somebody else is served.
 */
import { Effect } from "effect"
import { start } from "../../src/main/library.ts"
import { send } from "../client.ts"
import { parseResponses, RawClient } from "../http/raw-client.ts"
import { type AttackCase, attack, type Trial } from "./attack.ts"
import { initialize, mcpHeaders, mcpOrigin } from "./mcp-origin.ts"

interface Flood extends AttackCase {
  readonly run: (port: number) => Promise<void>
}

const head = "POST /direct HTTP/1.1\r\nHost: a.example\r\nX-Padding: aaaa\r\nContent-Length: 10\r\n\r\n"

/** What is sent before the client stops; all of it is a beginning of something. */
const beginnings: ReadonlyArray<readonly [what: string, sent: string]> = [
  ["after one byte", "P"],
  ["in the method", "POS"],
  ["after the method", "POST "],
  ["in the path", "POST /dir"],
  ["in the version", "POST /direct HTTP/1"],
  ["between \\r and \\n", "POST /direct HTTP/1.1\r"],
  ["after the first line", "POST /direct HTTP/1.1\r\n"],
  ["in the name of a header", head.slice(0, 30)],
  ["in the value of Host", head.slice(0, head.indexOf("example"))],
  ["after Host", head.slice(0, head.indexOf("X-Padding"))],
  ["in another header", head.slice(0, head.indexOf("aaaa") + 2)],
  ["after all headers but one", head.slice(0, head.indexOf("Content-Length"))],
  ["before the last line break", head.slice(0, -2)],
  ["within the last line break", head.slice(0, -1)],
  ["after empty lines", "\r\n\r\n"],
  ["after an empty line and a byte", "\r\nG"],
  ["in a path of 8,000 characters", `GET /${"a".repeat(8_000)}`],
  ["in a header of 8,000 characters", `GET / HTTP/1.1\r\nHost: a\r\nX: ${"a".repeat(8_000)}`],
  ["after 90 headers", `GET / HTTP/1.1\r\nHost: a\r\n${"X: y\r\n".repeat(90)}`],
  ["before a body", head],
  ["in a body", `${head}12345`],
  ["before the last byte of a body", `${head}123456789`],
  ["before a chunk", head.replace("Content-Length: 10", "Transfer-Encoding: chunked")],
  ["in the size of a chunk", `${head.replace("Content-Length: 10", "Transfer-Encoding: chunked")}5`],
  ["in a chunk", `${head.replace("Content-Length: 10", "Transfer-Encoding: chunked")}5\r\nab`],
  ["behind a chunk", `${head.replace("Content-Length: 10", "Transfer-Encoding: chunked")}5\r\nabcde\r\n`],
  ["in trailers", `${head.replace("Content-Length: 10", "Transfer-Encoding: chunked")}0\r\nX-A: b\r\n`],
  ["in a second request", `GET /direct HTTP/1.1\r\nHost: a\r\n\r\nGET /dir`]
]

/** The connection is closed before long, with a word about it or none. */
const closes = async (client: RawClient): Promise<void> => {
  await client.until(({ ended, closed }) => ended || closed, 10_000)
  client.socket.destroy()
  const last = parseResponses(client.received).at(-1)
  if (last !== undefined && ![200, 400, 408].includes(last.status)) throw new Error(`answered ${last.status}`)
}

const stopping: ReadonlyArray<Flood> = beginnings.map(([what, sent]) => ({
  title: `a connection that stops ${what}`,
  run: (port) => closes(new RawClient(port).send(sent))
}))

/** One byte every few milliseconds: a limit that every byte begins anew would never be reached. */
const dripping: ReadonlyArray<Flood> = [
  ["the first line", `GET /${"a".repeat(10_000)}`],
  ["headers", `GET / HTTP/1.1\r\nHost: a\r\n${"X: y\r\n".repeat(2_000)}`],
  ["one header", `GET / HTTP/1.1\r\nHost: a\r\nX: ${"y".repeat(10_000)}`],
  ["empty lines", "\r\n".repeat(5_000)]
].map(([what, sent]) => ({
  title: `a head that drips: ${what}`,
  run: async (port) => {
    const client = new RawClient(port)
    let at = 0
    const timer = setInterval(() => {
      if (!client.closed && !client.ended) client.send(sent![at++]!)
    }, 5)
    try {
      await closes(client)
    } finally {
      clearInterval(timer)
    }
  }
}))

const greet = (port: number, path: string) =>
  send(port, { method: "POST", path, headers: mcpHeaders, body: JSON.stringify(initialize) })

/** Twice as many as there is room for, one after the other or all at once; those that are refused are told why. */
const sessions: ReadonlyArray<Flood> = (["/remote", "/children"] as const).flatMap((path) =>
  ([true, false] as const).map((together) => ({
    title: `anonymous sessions at ${path}, ${together ? "all at once" : "one after the other"}`,
    run: async (port) => {
      const answers: Array<{ readonly status: number; readonly body: string }> = []
      if (together) answers.push(...(await Promise.all(Array.from({ length: 8 }, () => greet(port, path)))))
      else for (let i = 0; i < 8; i++) answers.push(await greet(port, path))
      const begun = answers.filter(({ status }) => status === 200).length
      if (begun > 4) throw new Error(`${begun} sessions of one address`)
      for (const { status, body } of answers)
        if (status !== 200 && !(status === 429 && body.includes("maxSessionsPerAddress")))
          throw new Error(`answered ${status} ${body}`)
    }
  }))
)

const serverOfChildren =
  '{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-11-25","capabilities":{},"serverInfo":{"name":"s","version":"1"}}}'

const configuration = (port: number) => `
frontendPolicies: { http: { http1HeaderTimeout: 80ms, http1IdleTimeout: 200ms } }
gateways: { default: { port: 8080 } }
routes:
- { name: direct, matches: [{ path: { exact: /direct } }], policies: { buffer: { request: { maxBytes: 1000 } }, directResponse: { status: 200, body: ok } } }
- name: remote
  matches: [{ path: { pathPrefix: /remote } }]
  backends: [{ mcp: { maxSessionsPerAddress: 4, targets: [{ name: t, mcp: { host: "http://127.0.0.1:${port}/mcp" } }] } }]
- name: children
  matches: [{ path: { pathPrefix: /children } }]
  backends:
  - mcp:
      maxSessionsPerAddress: 4
      targets: [{ name: t, stdio: { cmd: sh, args: ["-c", 'while read line; do echo ''${serverOfChildren}''; done'] } }]
`

const open = Effect.gen(function* () {
  const gateway = yield* start(configuration(yield* mcpOrigin), { ephemeral: true, host: "127.0.0.1" })
  const port = gateway.port(8080)!
  const trial: Trial<Flood> = ({ run }) =>
    Effect.promise(async () => {
      const flood = run(port)
      const { status, body } = await send(port, { path: "/direct" })
      if (status !== 200 || body !== "ok") throw new Error(`meanwhile somebody else got ${status} ${body}`)
      await flood
    })
  return trial
})

export const floods = attack<Flood>({
  class: "slow and flooding clients",
  name: "connections and sessions",
  proves: "what one client holds is bounded in number and time, and nobody else goes without",
  cases: [...stopping, ...dripping, ...sessions],
  open
})
