/**
 * Pages of others before MCP servers on the machine of their reader: across sites, and under names of their own that they
 * had resolved to this machine. Each case is one handshake with the `Host` and `Origin` that a browser would send.
 */
import { Effect } from "effect"
import { start } from "../../src/main/library.ts"
import { parseResponses, RawClient } from "../http/raw-client.ts"
import { type AttackCase, attack, type Trial } from "./attack.ts"
import { initialize, mcpHeaders, mcpOrigin } from "./mcp-origin.ts"

/** What the configuration says of the server: nothing, a host name of its route, a CORS policy, or the setting itself. */
const servers = { plain: 8080, named: 8081, cors: 8082, off: 8083, on: 8084 } as const

interface Visit extends AttackCase {
  readonly server: keyof typeof servers
  /** Whether the listener is on loopback alone, or on every address and reached over loopback. */
  readonly listener: "loopback" | "everywhere"
  /** `{port}` stands for the port of the listener. */
  readonly host: string
  readonly origins: ReadonlyArray<string>
  readonly passes: boolean
}

type Row = readonly [server: Visit["server"], host: string, origins: ReadonlyArray<string>, passes: boolean]

const onLoopback: ReadonlyArray<Row> = [
  ["plain", "localhost:{port}", [], true],
  ["plain", "127.0.0.1:{port}", [], true],
  ["plain", "LOCALHOST", ["http://localhost:5173"], true],
  ["plain", "[::1]:{port}", ["https://[::1]"], true],
  ["plain", "evil.example:{port}", [], false],
  ["plain", "evil.example:{port}", ["http://evil.example:{port}"], false],
  ["plain", "localhost:{port}", ["http://evil.example:{port}"], false],
  ["plain", "localhost:{port}", ["https://evil.example"], false],
  ["plain", "localhost:{port}", ["null"], false],
  ["plain", "localhost:{port}", ["http://localhost.evil.example"], false],
  ["plain", "localhost:{port}", ["http://evil.example#localhost"], false],
  ["plain", "localhost:{port}", ["http://localhost@evil.example"], false],
  ["plain", "localhost:{port}", ["http://evil.example?localhost"], false],
  ["plain", "localhost:{port}", ["file://"], false],
  ["plain", "localhost:{port}", ["chrome-extension://abcdefgh"], false],
  ["plain", "localhost:{port}", ["http://localhost", "http://evil.example"], false],
  ["plain", "localhost:{port}", ["http://evil.example", "http://localhost"], false],
  ["plain", "localhost:{port}", ["http://localhost http://evil.example"], false],
  ["plain", "localhost:{port}", ["http://127.0.0.1.evil.example"], false],
  ["plain", "localhost:{port}", ["http://127.1"], false],
  ["plain", "localhost:{port}", ["http://0.0.0.0:{port}"], false],
  ["plain", "0.0.0.0:{port}", ["http://0.0.0.0:{port}"], false],
  ["plain", "127.0.0.1.nip.example:{port}", [], false],
  ["plain", "localhost.evil.example", [], false],
  ["plain", "localhost.:{port}", ["http://evil.example"], false],
  ["plain", "[::ffff:127.0.0.1]:{port}", ["http://[::ffff:127.0.0.1]:{port}"], false],
  ["named", "mcp.example", [], true],
  ["named", "mcp.example:{port}", ["https://mcp.example:{port}"], true],
  ["named", "mcp.example", ["https://evil.example"], false],
  ["named", "mcp.example", ["null"], false],
  ["named", "mcp.example", ["http://mcp.example.evil.example"], false],
  ["cors", "localhost:{port}", ["https://app.example"], true],
  ["cors", "localhost:{port}", ["https://app.example.evil.example"], false],
  ["cors", "localhost:{port}", ["http://app.example"], false],
  ["cors", "evil.example:{port}", ["https://app.example"], false],
  ["off", "evil.example:{port}", ["http://evil.example:{port}"], true],
  ["on", "evil.example:{port}", [], false]
]

const everywhere: ReadonlyArray<Row> = [
  ["plain", "evil.example:{port}", ["http://evil.example:{port}"], false],
  ["plain", "EVIL.example:{port}", ["http://evil.example:{port}"], false],
  ["plain", "evil.example:{port}", ["HTTP://EVIL.EXAMPLE:{port}"], false],
  ["plain", "evil.example:{port}", ["http://other.example", "http://evil.example:{port}"], false],
  // By way of a proxy on this machine, which was asked at a port of its own.
  ["plain", "mcp.example", ["https://mcp.example"], true],
  ["plain", "mcp.example", ["http://mcp.example"], true],
  ["plain", "evil.example:{port}", [], true],
  ["named", "mcp.example:{port}", ["http://mcp.example:{port}"], true],
  ["cors", "evil.example:{port}", ["https://app.example"], true],
  ["off", "evil.example:{port}", ["http://evil.example:{port}"], true],
  ["on", "evil.example:{port}", [], false],
  ["on", "localhost:{port}", ["http://evil.example:{port}"], false],
  ["on", "localhost:{port}", ["http://localhost:{port}"], true]
]

const visits = (listener: Visit["listener"], rows: ReadonlyArray<Row>): ReadonlyArray<Visit> =>
  rows.map(([server, host, origins, passes]) => ({
    title: `${listener}, ${server}: Host ${host}, Origin ${origins.join(" and ") || "none"}`,
    listener,
    server,
    host,
    origins,
    passes
  }))

const configuration = (port: number): string => {
  const backend = (more = "") =>
    `backends: [{ mcp: { ${more} targets: [{ name: t, mcp: { host: "http://127.0.0.1:${port}/mcp" } }] } }]`
  return `
gateways: { ${Object.entries(servers)
    .map(([name, at]) => `${name}: { port: ${at} }`)
    .join(", ")} }
routes:
- { name: plain, gateways: [plain], ${backend()} }
- { name: named, gateways: [named], hostnames: [mcp.example], ${backend()} }
- { name: cors, gateways: [cors], policies: { cors: { allowOrigins: ["https://app.example"] } }, ${backend()} }
- { name: off, gateways: [off], ${backend("dnsRebindingProtection: false,")} }
- { name: on, gateways: [on], ${backend("dnsRebindingProtection: true,")} }
`
}

const open = Effect.gen(function* () {
  const text = configuration(yield* mcpOrigin)
  const gateways = {
    loopback: yield* start(text, { ephemeral: true, host: "127.0.0.1" }),
    everywhere: yield* start(text, { ephemeral: true, host: "0.0.0.0" })
  }
  const body = JSON.stringify(initialize)
  const trial: Trial<Visit> = ({ listener, server, host, origins, passes }) =>
    Effect.promise(async () => {
      const port = gateways[listener].port(servers[server])!
      const at = (text: string) => text.replaceAll("{port}", String(port))
      const lines = [
        "POST /mcp HTTP/1.1",
        `Host: ${at(host)}`,
        ...origins.map((origin) => `Origin: ${at(origin)}`),
        ...Object.entries(mcpHeaders).map(([name, value]) => `${name}: ${value}`),
        `Content-Length: ${body.length}`,
        "Connection: close"
      ]
      const client = new RawClient(port).send(`${lines.join("\r\n")}\r\n\r\n${body}`)
      await client.toEnd()
      const [answer] = parseResponses(client.received)
      if (answer?.status !== (passes ? 200 : 403))
        throw new Error(`answered ${answer?.status} ${answer?.body.toString()}`)
    })
  return trial
})

export const mcpRebinding = attack<Visit>({
  class: "rebinding and cross-site calls",
  name: "MCP servers",
  proves: "a page that neither this machine nor the configuration knows begins no session",
  cases: [...visits("loopback", onLoopback), ...visits("everywhere", everywhere)],
  open
})
