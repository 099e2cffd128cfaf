/**
 * Header and path spelling: header lines that stand for another one, hide one, or carry a credential twice. What the
 * gateway sets or takes away is what the backend gets, however a client spells it.
 */
import { Effect } from "effect"
import { RawClient } from "../http/raw-client.ts"
import { attack, type Trial } from "./attack.ts"
import { attacked } from "./gateway.ts"
import { type StrictRequest, strictOrigin } from "./strict-origin.ts"

interface Lines {
  readonly title: string
  readonly lines: ReadonlyArray<string>
  /** Whether it comes with the key that the route wants. Default: it does. */
  readonly keyed?: boolean
  /** What is answered. Default 200. */
  readonly status?: number | ReadonlyArray<number>
  /** The values of a header, named in lower case, as the backend gets them. */
  readonly arrives?: Readonly<Record<string, ReadonlyArray<string>>>
}

const key = "secret-key"
const gateway = { "x-user": ["gateway"] }

const cases: ReadonlyArray<Lines> = [
  { title: "nothing", lines: [], arrives: gateway },
  ...["x-user", "X-User", "X-USER", "x-uSER"].flatMap((name) => [
    { title: `${name} of the client`, lines: [`${name}: admin`], arrives: gateway },
    { title: `${name} twice`, lines: [`${name}: admin`, `${name}: root`], arrives: gateway },
    { title: `${name} of nothing`, lines: [`${name}:`], arrives: gateway },
    { title: `${name} that Connection names`, lines: [`${name}: admin`, `Connection: ${name}`], arrives: gateway }
  ]),
  ...["x_user", "X_User", "X_USER"].map((name) => ({
    title: `${name}, which some take for x-user`,
    lines: [`${name}: admin`],
    arrives: { ...gateway, x_user: [] }
  })),
  ...["Transfer_Encoding: chunked", "Content_Length: 9", "X_Forwarded_For: 10.0.0.1", "X_Headgate_User: a"].map(
    (line) => ({
      title: `${line}, which some take for another`,
      lines: [line],
      arrives: { [line.slice(0, line.indexOf(":")).toLowerCase()]: [] }
    })
  ),
  { title: "a connection that names what the gateway sets", lines: ["Connection: x-user, close"], arrives: gateway },
  ...["x-internal", "X-Internal", "X-INTERNAL"].flatMap((name) => [
    { title: `${name}, which is taken away`, lines: [`${name}: 1`], arrives: { "x-internal": [] } },
    { title: `${name} twice, which is taken away`, lines: [`${name}: 1`, `${name}: 2`], arrives: { "x-internal": [] } },
    { title: `${name} between others`, lines: ["a: 1", `${name}: 1`, "b: 2"], arrives: { "x-internal": [], b: ["2"] } }
  ]),
  ...["X-Headgate-Trace", "x-headgate-user", "X-HEADGATE-", "x-Headgate-Principal"].map((name) => ({
    title: `${name}, which is the gateway's own`,
    lines: [`${name}: forged`],
    arrives: { [name.toLowerCase()]: [] }
  })),
  ...["TE: gzip", "Trailer: X-A", "Keep-Alive: timeout=9", "Proxy-Connection: x", "Proxy-Authenticate: x"].map(
    (line) => ({
      title: `${line}, which is of one connection`,
      lines: [line],
      arrives: { [line.slice(0, line.indexOf(":")).toLowerCase()]: [] }
    })
  ),
  { title: "a name that Connection names in capitals", lines: ["X-A: 1", "CONNECTION: x-A"], arrives: { "x-a": [] } },
  {
    title: "a name on a second Connection line",
    lines: ["X-A: 1", "Connection: y", "connection: X-A"],
    arrives: { "x-a": [] }
  },
  { title: "a Connection of commas", lines: ["X-A: 1", "Connection: ,,,x-a,,"], arrives: { "x-a": [] } },
  ...["cookie", "content-type", "authorization", "host", "content-length"].map((name) => ({
    title: `a Connection that names ${name}`,
    lines: [`Connection: ${name}`, "Cookie: c=1", "Content-Type: text/plain"],
    arrives: { cookie: ["c=1"], "content-type": ["text/plain"] }
  })),
  // Credentials.
  { title: "no key", keyed: false, lines: [], status: 401 },
  ...[
    `Authorization: ${key}`,
    `Authorization: Basic ${key}`,
    "Authorization: Bearer",
    "Authorization: Bearer ",
    `Authorization: Bearer ${key}x`,
    `Authorization: Bearer ${key.toUpperCase()}`,
    `Authorization: Bearer x ${key}`,
    `Authorization: Bearer ${key} x`,
    `Authorization: Bearer "${key}"`,
    `Authorization: Bearer ${key},`,
    `Authorization: Bearer,${key}`,
    `Authorization: Bearer wrong, Bearer ${key}`,
    `Authorization: Bearer=${key}`,
    `X-Authorization: Bearer ${key}`,
    `Proxy-Authorization: Bearer ${key}`,
    `Cookie: Authorization=Bearer ${key}`,
    `X-Api-Key: ${key}`,
    `Authorization: Bearer ${encodeURIComponent("s")}%65cret-key`,
    `Authorization: Bearer ${Buffer.from(key).toString("base64")}`
  ].map((line) => ({ title: line.replaceAll(key, "KEY"), keyed: false, lines: [line], status: [400, 401] })),
  {
    title: "a wrong key before the right one",
    keyed: false,
    lines: ["Authorization: Bearer wrong", `Authorization: Bearer ${key}`],
    status: [400, 401]
  },
  {
    // The first one counts, and neither goes on.
    title: "the right key before a wrong one",
    keyed: false,
    lines: [`Authorization: Bearer ${key}`, "Authorization: Bearer wrong"],
    arrives: { authorization: [] }
  },
  { title: "the scheme in capitals", keyed: false, lines: [`AUTHORIZATION: BEARER ${key}`], arrives: gateway },
  { title: "the key that Connection names", lines: ["Connection: authorization"], arrives: gateway }
]

const valuesOf = ({ headers }: StrictRequest, wanted: string) =>
  headers.filter(([name]) => name.toLowerCase() === wanted).map(([, value]) => value)

const open = Effect.gen(function* () {
  const origin = yield* strictOrigin
  const { port } = yield* attacked(`
gateways: { default: { port: 8080 } }
routes:
  - policies:
      apiKey: { mode: strict, keys: [{ key: ${key} }] }
      requestHeaderModifier: { set: { x-user: gateway }, remove: [x-internal] }
    backends: [{ host: "127.0.0.1:${origin.port}" }]
`)
  const trial: Trial<Lines> = ({ lines, keyed = true, status = 200, arrives = {} }) =>
    Effect.promise(async () => {
      origin.received.length = origin.violations.length = 0
      const own = keyed ? [`Authorization: Bearer ${key}`] : []
      const client = new RawClient(port).send(
        `${["GET / HTTP/1.1", "Host: a", ...own, ...lines].join("\r\n")}\r\nConnection: close\r\n\r\n`
      )
      const received = await client.toEnd()
      const seen = origin.received[0]
      const said = `answered ${received.slice(0, 200)}; the backend got ${JSON.stringify(seen?.headers)}`
      if (origin.violations.length > 0) throw new Error(`${origin.violations}; ${said}`)
      const answered = Number(received.split(" ")[1])
      if (![status].flat().includes(answered)) throw new Error(`expected ${status}: ${said}`)
      if ((answered === 200) !== (seen !== undefined)) throw new Error(said)
      if (JSON.stringify(seen ?? "").includes(key)) throw new Error(`the key went on: ${said}`)
      if (seen === undefined) return
      for (const [name, values] of Object.entries(arrives))
        if (JSON.stringify(valuesOf(seen, name)) !== JSON.stringify(values)) throw new Error(`${name}: ${said}`)
    })
  return trial
})

export const headerSpelling = attack<Lines>({
  class: "header and path spelling",
  name: "header spelling",
  proves: "what the gateway sets, takes away and asks for holds however a header is spelled",
  cases,
  open
})
