/**
 * What a page in the browser of whoever runs the gateway may try on its management interface: names made to resolve to
 * loopback, forms posted across sites, methods and paths in other clothes.
 */
import { Effect } from "effect"
import { start } from "../../src/main/library.ts"
import { RawClient, type RawResponse } from "../http/raw-client.ts"
import { attack, type Trial } from "./attack.ts"

interface Call {
  readonly title: string
  /** Method and target. */
  readonly line: string
  /** Header lines; `PORT` is that of the interface. A host that is fine stands there unless one is given. */
  readonly headers?: ReadonlyArray<string>
  readonly body?: string
  /** What it answers; anything but 200 must have changed nothing. */
  readonly status: number | ReadonlyArray<number>
}

const reads = "GET /config_dump"
const changes = "POST /logging?level=trace"
const ends = "POST /quitquitquit"

const foreignHosts = [
  "evil.example",
  "evil.example:PORT",
  "localhost.evil.example",
  "127.0.0.1.evil.example:PORT",
  "evil.example#localhost",
  "localhost@evil.example",
  "evil.example\\localhost",
  "10.0.0.1",
  "192.168.0.1:PORT",
  "0.0.0.0:PORT",
  "[::]:PORT",
  "[::ffff:10.0.0.1]:PORT",
  "[fe80::1]",
  "128.0.0.1",
  "2130706433",
  "0x7f000001",
  "017700000001",
  "127.1.evil.example",
  "localhost:PORT.evil.example",
  "localhost.",
  "xn--localhost",
  "127.0.0.1, evil.example",
  "[127.0.0.1]evil"
]

const foreignOrigins = [
  "http://evil.example",
  "https://evil.example:PORT",
  "null",
  "https://127.0.0.1:PORT",
  "http://localhost:PORT",
  "http://127.0.0.1",
  "http://127.0.0.1:1",
  "http://127.0.0.1:PORT.evil.example",
  "http://127.0.0.1:PORT@evil.example",
  "http://127.0.0.1:PORT/",
  "HTTP://127.0.0.1:PORT ,http://evil.example",
  "file://",
  "chrome-extension://abc",
  "ws://127.0.0.1:PORT",
  ""
]

const calls: ReadonlyArray<Call> = [
  ...foreignHosts.map((host) => ({
    title: `reads for the host ${host}`,
    line: reads,
    headers: [`host: ${host}`],
    status: [400, 403]
  })),
  ...["evil.example", "127.0.0.1.evil.example", "10.0.0.1"].flatMap((host) =>
    [ends, changes, "POST /debug/trace", "GET /memory", "GET /", "GET /debug/graph", "GET /config_problems"].map(
      (line) => ({
        title: `${line} for the host ${host}`,
        line,
        headers: [`host: ${host}`],
        status: 403
      })
    )
  ),
  ...[ends, changes, reads].map((line) => ({
    title: `${line} through a gateway`,
    line,
    headers: ["host: 127.0.0.1:PORT", "via: 1.0 other, 1.1 headgate-0123abcd"],
    status: 403
  })),
  { title: "two hosts", line: ends, headers: ["host: 127.0.0.1:PORT", "host: evil.example"], status: [400, 403] },
  { title: "two hosts, the foreign first", line: ends, headers: ["host: evil.example", "host: a"], status: [400, 403] },
  ...foreignOrigins.flatMap((origin) =>
    [ends, changes].map((line) => ({
      title: `${line} for the origin ${origin === "" ? "of nothing" : origin}`,
      line,
      headers: [`origin: ${origin}`],
      status: 403
    }))
  ),
  ...["cross-site", "same-site", "CROSS-SITE", "", "same-origin, cross-site", "unknown"].map((site) => ({
    title: `${ends} fetched ${site === "" ? "from nowhere" : site}`,
    line: ends,
    headers: [`sec-fetch-site: ${site}`],
    status: 403
  })),
  {
    title: "a form posted across sites",
    line: "POST /logging?level=trace",
    headers: [
      "origin: http://evil.example",
      "sec-fetch-site: cross-site",
      "content-type: application/x-www-form-urlencoded",
      "content-length: 11"
    ],
    body: "level=trace",
    status: 403
  },
  {
    title: "a preflight",
    line: "OPTIONS /quitquitquit",
    headers: ["origin: http://evil.example", "access-control-request-method: POST"],
    status: [403, 405]
  },
  {
    title: "a foreign page reads, and may not see it",
    line: reads,
    headers: ["origin: http://evil.example", "sec-fetch-site: cross-site"],
    status: 200
  },
  ...["GET", "HEAD", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "PROPFIND", "QUERY"].flatMap((method) =>
    ["/quitquitquit", "/logging?level=trace", "/debug/trace"].map((path) => ({
      title: `${method} ${path}`,
      line: `${method} ${path}`,
      status: [400, 403, 405, 501]
    }))
  ),
  ...["x-http-method-override: POST", "x-http-method: POST", "x-method-override: POST"].map((header) => ({
    title: `GET with ${header}`,
    line: "GET /quitquitquit",
    headers: [header],
    status: 405
  })),
  ...[
    "//quitquitquit",
    "/./quitquitquit",
    "/quitquitquit/x",
    "/quitquitquit%00",
    "/quitquitquit%2f",
    "/quitquitquit;x",
    "/x/../quitquitquit",
    "/%2e%2e/quitquitquit",
    "/config_dump/..%2fquitquitquit",
    "\\quitquitquit",
    "/quit\tquitquit"
  ].map((path) => ({
    title: `POST ${path} of a foreign page`,
    line: `POST ${path}`,
    headers: ["origin: http://evil.example"],
    status: [400, 403, 404]
  })),
  { title: "a header of 70 KiB", line: reads, headers: [`x: ${"x".repeat(70_000)}`], status: [400, 431] },
  { title: "both lengths", line: changes, headers: ["content-length: 0", "transfer-encoding: chunked"], status: 400 },
  { title: "an unknown level", line: "POST /logging?level=__proto__", status: 400 },
  { title: "a level that is a sentence", line: "POST /logging?level=a=b=c,d", status: 400 },
  { title: "an expression that is none", line: "POST /debug/trace?expression=((", status: 400 },
  { title: "an expression of great depth", line: `POST /debug/trace?expression=${"(".repeat(7000)}`, status: 400 },
  { title: "a rate beyond bounds", line: "POST /debug/trace?follow=1e9", status: 400 },
  { title: "a rate that is none", line: "POST /debug/trace?follow=NaN", status: 400 },
  { title: "a format that is none", line: "GET /config_problems?format=constructor", status: 400 }
]

const open = Effect.gen(function* () {
  const gateway = yield* start(
    `
gateways: { default: { port: 8080 } }
routes: [{ policies: { directResponse: { status: 200, body: hello } } }]
`,
    { ephemeral: true, host: "127.0.0.1" }
  )
  const port = gateway.ports.admin!
  let ended = false
  yield* Effect.forkScoped(
    Effect.andThen(
      gateway.shutdownRequested,
      Effect.sync(() => (ended = true))
    )
  )
  const ask = async (line: string, headers: ReadonlyArray<string>, body = ""): Promise<RawResponse> => {
    const own = headers.some((header) => header.startsWith("host:")) ? [] : ["host: 127.0.0.1:PORT"]
    const lines = [`${line} HTTP/1.1`, ...own, ...headers, "connection: close"].map((text) =>
      text.replaceAll("PORT", String(port))
    )
    const client = new RawClient(port).send(`${lines.join("\r\n")}\r\n\r\n${body}`)
    // A trace goes on until there is a request: its head is enough.
    await client.until(() => client.text.includes("\r\n\r\n") || client.closed)
    client.socket.destroy()
    const head = client.text.slice(0, client.text.indexOf("\r\n\r\n"))
    return { status: Number(head.split(" ")[1]), head, headers: [], body: client.received, trailers: [] }
  }
  const trial: Trial<Call> = ({ line, headers = [], body, status }) =>
    Effect.promise(async () => {
      const answer = await ask(line, headers, body)
      if (![status].flat().includes(answer.status)) throw new Error(`expected ${status}: ${answer.head}`)
      if (/access-control-allow/i.test(answer.head)) throw new Error(`a foreign page may read: ${answer.head}`)
      const now = await ask("POST /logging", [])
      if (!now.body.toString().includes("current log level is info")) throw new Error("the log level was changed")
      if (ended) throw new Error("it was told to end")
    })
  return trial
})

export const administration = attack<Call>({
  class: "rebinding and cross-site calls",
  name: "administration",
  proves: "no page of another origin or name reads or changes anything through the management interface",
  cases: calls,
  open
})
