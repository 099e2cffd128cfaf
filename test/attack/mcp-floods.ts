/**
 * Anonymous clients that begin more MCP sessions than there is room for, and children and streams with them. What they get
 * is bounded, they are told by which setting, and while they try somebody else is served.
 */
import { Effect } from "effect"
import { start } from "../../src/main/library.ts"
import { send } from "../client.ts"
import { RawClient } from "../http/raw-client.ts"
import { type AttackCase, attack, type Trial } from "./attack.ts"
import { initialize, mcpHeaders, mcpOrigin } from "./mcp-origin.ts"

/** The most of everything that one address may have here. */
const most = 4
const tried = 4 * most

interface Flood extends AttackCase {
  /** The backend: each case has one of its own, which nobody has used before. */
  readonly server: "remote" | "children" | "stateless children"
  readonly form: "handshakes" | "handshakes one after the other" | "streams"
}

interface Answered {
  readonly status: number
  readonly body: string
}

const floods: ReadonlyArray<Flood> = (["remote", "children", "stateless children"] as const).flatMap((server) =>
  (["handshakes", "handshakes one after the other", "streams"] as const)
    .filter((form) => server !== "stateless children" || form === "handshakes")
    .map((form) => ({ title: `${form} at ${server}`, server, form }))
)

const greet = (port: number, path: string): Promise<Answered> =>
  send(port, { method: "POST", path, headers: mcpHeaders, body: JSON.stringify(initialize) })

/** Opens a stream of 2024-11-05 and keeps it. */
const listen = async (port: number, path: string, held: Array<RawClient>): Promise<Answered> => {
  const client = new RawClient(port).send(`GET ${path}/sse HTTP/1.1\r\nHost: localhost\r\n\r\n`)
  held.push(client)
  await client.until(({ text, closed }) => closed || text.includes("sessionId=") || text.includes("maxSessions"))
  return { status: Number(client.text.slice(9, 12)), body: client.text }
}

const ids = new Map(floods.map((flood, index) => [flood, `/flood-${index}`]))

/** Answers the handshake, and takes its time for it, so that many are under way at once. */
const child = `read line; sleep 0.3; echo '{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-11-25","capabilities":{},"serverInfo":{"name":"s","version":"1"}}}'; cat`

const configuration = (port: number): string => {
  const target = (server: Flood["server"]) =>
    server === "remote"
      ? { name: "t", mcp: { host: `http://127.0.0.1:${port}/mcp` } }
      : { name: "t", stdio: { cmd: "sh", args: ["-c", child] } }
  return JSON.stringify({
    config: { overload: { maxDelay: "0s" } },
    gateways: { default: { port: 8080 } },
    routes: [
      {
        name: "well",
        matches: [{ path: { exact: "/well" } }],
        policies: { directResponse: { status: 200, body: "ok" } }
      },
      ...floods.map((flood) => ({
        name: ids.get(flood)!.slice(1),
        matches: [{ path: { pathPrefix: ids.get(flood)! } }],
        policies: { urlRewrite: { path: { prefix: "/" } } },
        backends: [
          {
            mcp: {
              maxSessionsPerAddress: most,
              statefulMode: flood.server === "stateless children" ? "stateless" : "stateful",
              targets: [target(flood.server)]
            }
          }
        ]
      }))
    ]
  })
}

const open = Effect.gen(function* () {
  const gateway = yield* start(configuration(yield* mcpOrigin), { ephemeral: true, host: "127.0.0.1" })
  const port = gateway.port(8080)!
  const trial: Trial<Flood> = (flood) =>
    Effect.promise(async () => {
      const path = ids.get(flood)!
      const held: Array<RawClient> = []
      const one = () => (flood.form === "streams" ? listen(port, path, held) : greet(port, path))
      const answers: Array<Answered> = []
      try {
        if (flood.form === "handshakes one after the other") for (let i = 0; i < tried; i++) answers.push(await one())
        else {
          const all = Promise.all(Array.from({ length: tried }, one))
          const { status, body } = await send(port, { path: "/well" })
          if (status !== 200 || body !== "ok") throw new Error(`meanwhile somebody else got ${status} ${body}`)
          answers.push(...(await all))
        }
      } finally {
        for (const { socket } of held) socket.destroy()
      }
      const taken = answers.filter(({ status }) => status === 200).length
      if (taken !== most) throw new Error(`${taken} of ${tried} were taken`)
      for (const { status, body } of answers)
        if (status !== 200 && !([429, 503].includes(status) && body.includes("maxSessionsPerAddress")))
          throw new Error(`answered ${status} ${body}`)
    })
  return trial
})

export const mcpFloods = attack<Flood>({
  class: "slow and flooding clients",
  name: "MCP sessions",
  proves: "an address that nobody vouches for gets so many sessions, streams and children, and no more",
  cases: floods,
  open
})
