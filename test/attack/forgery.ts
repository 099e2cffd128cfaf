/**
 * Request forgery by the server: whatever a caller, a model or an MCP server says of other addresses, the gateway connects
 * to those of its configuration alone. A service on loopback that no configuration names must never be asked.
 */
import { json } from "node:stream/consumers"
import { Effect } from "effect"
import { httpBackend, portOf, tcpBackend } from "../http/edge.ts"
import { RawClient } from "../http/raw-client.ts"
import { attack, type Trial } from "./attack.ts"
import { attacked } from "./gateway.ts"

/** Who is asked for it: a plain backend, a model, one that takes another format, or MCP servers of both transports. */
type Through = "backend" | "model" | "translation" | "tool" | "endpoint"

interface Forgery {
  readonly title: string
  readonly through: Through
  /** The target and the header lines of a request to the plain backend; `VICTIM` is the address. */
  readonly target?: string
  readonly lines?: ReadonlyArray<string>
  /** What a model is asked. */
  readonly asked?: object
  /** How the server answers: with a redirection there. */
  readonly redirect?: number
  /** Where an MCP server says that messages are to be posted. */
  readonly endpoint?: string
}

const hosts = [
  "VICTIM",
  "localhost:PORT",
  "localhost.:PORT",
  "127.1:PORT",
  "0:PORT",
  "0.0.0.0:PORT",
  "2130706433:PORT",
  "0x7f000001:PORT",
  "0177.0.0.1:PORT",
  "[::1]:PORT",
  "[::]:PORT",
  "[::ffff:127.0.0.1]:PORT",
  "[::ffff:7f00:1]:PORT",
  "[64:ff9b::7f00:1]:PORT",
  "[::127.0.0.1]:PORT",
  "[2002:7f00:1::]:PORT",
  "[0:0:0:0:0:ffff:7f00:0001]:PORT"
]

const models = [
  "../../../secrets",
  "a/../../b",
  "..",
  ".",
  "%2e%2e/x",
  "%2e%2e%2f%2e%2e%2fx",
  "..%2fx",
  "a\\..\\b",
  "x?key=other",
  "x#y",
  "x:countTokens?y=",
  "http://VICTIM/",
  "//VICTIM/x",
  "@VICTIM/",
  "x\r\nHost: VICTIM",
  "x HTTP/1.1",
  "x\0y",
  "ünï"
]

const image = (url: string) => ({
  model: "gemini",
  messages: [
    {
      role: "user",
      content: [
        { type: "text", text: "what is it?" },
        { type: "image_url", image_url: { url } }
      ]
    }
  ]
})

const cases: ReadonlyArray<Forgery> = [
  ...hosts.flatMap(
    (host): ReadonlyArray<Forgery> => [
      { title: `the host ${host}`, through: "backend", lines: [`Host: ${host}`] },
      { title: `the absolute target http://${host}/x`, through: "backend", target: `http://${host}/x` }
    ]
  ),
  ...[
    "//VICTIM/x",
    "/http://VICTIM/",
    "/@VICTIM/",
    "/\\VICTIM/",
    "/x?url=http://VICTIM/",
    "http://a@VICTIM/",
    "/:PORT/"
  ].map((target): Forgery => ({ title: `the target ${target}`, through: "backend", target })),
  ...[
    "X-Forwarded-Host: VICTIM",
    "X-Forwarded-Server: VICTIM",
    "Forwarded: host=VICTIM;proto=http",
    "X-Host: VICTIM",
    "X-Original-URL: http://VICTIM/",
    "X-Rewrite-URL: http://VICTIM/",
    "X-Original-Host: VICTIM",
    "Referer: http://VICTIM/",
    "Destination: http://VICTIM/",
    "X-Headgate-Backend: VICTIM",
    "Proxy: http://VICTIM/",
    "Via: 1.1 VICTIM"
  ].map((line): Forgery => ({ title: `the header ${line}`, through: "backend", lines: ["Host: a", line] })),
  ...[301, 302, 303, 307, 308].flatMap((redirect) =>
    (["backend", "model", "translation", "tool"] as const).map(
      (through): Forgery => ({ title: `a redirection with ${redirect} by the ${through}`, through, redirect })
    )
  ),
  ...[
    "http://VICTIM/post",
    "//VICTIM/post",
    "HTTP://VICTIM/post",
    "http:\\\\VICTIM\\post",
    "https://VICTIM/",
    "\t//VICTIM/",
    "ws://VICTIM/",
    "http://127.0.0.1:OWN@VICTIM/",
    "/../..//VICTIM/",
    "file:///etc/passwd"
  ].map((endpoint): Forgery => ({ title: `messages are to be posted to ${endpoint}`, through: "endpoint", endpoint })),
  ...models.map(
    (model): Forgery => ({
      title: `the model ${model}`,
      through: "translation",
      asked: { model, messages: [{ role: "user", content: "hello" }] }
    })
  ),
  ...[
    "http://VICTIM/a.png",
    "file:///etc/passwd",
    "//VICTIM/a.png",
    "gopher://VICTIM/",
    "data:text/html,x",
    "javascript:x"
  ].map((url): Forgery => ({ title: `a picture at ${url}`, through: "translation", asked: image(url) }))
]

const open = Effect.gen(function* () {
  let now: Forgery
  let victim = ""
  let own = 0
  /** The address and its port, and our own, in place of their names. */
  const told = (text: string) =>
    text
      .replaceAll("VICTIM", victim)
      .replaceAll("PORT", victim.slice(victim.indexOf(":") + 1))
      .replaceAll("OWN", String(own))
  const bystander = yield* tcpBackend((socket) => socket.end())
  victim = `127.0.0.1:${bystander.port}`
  const paths: Array<string> = []
  const server = yield* httpBackend(async (request, response) => {
    response.on("error", () => {})
    const path = request.url ?? ""
    paths.push(path)
    if (request.method === "GET" && path === "/sse") {
      response.writeHead(200, { "content-type": "text/event-stream" })
      response.write(`event: endpoint\ndata: ${told(now.endpoint ?? "/messages")}\n\n`)
      return
    }
    if (now.redirect !== undefined) {
      response.writeHead(now.redirect, { location: told("http://VICTIM/x") }).end()
      return
    }
    if (request.method !== "POST") return void response.end("backend")
    const asked = (await json(request).catch(() => ({}))) as { id?: unknown; method?: string }
    const respond = (value: unknown) =>
      response.writeHead(200, { "content-type": "application/json", "mcp-session-id": "s" }).end(JSON.stringify(value))
    if (path === "/mcp") {
      if (asked.id === undefined) return void response.writeHead(202).end()
      return void respond({
        jsonrpc: "2.0",
        id: asked.id,
        result: { protocolVersion: "2025-11-25", capabilities: { tools: {} }, serverInfo: { name: "t", version: "1" } }
      })
    }
    respond({ candidates: [{ content: { role: "model", parts: [{ text: "fine" }] }, finishReason: "STOP" }] })
  })
  own = portOf(server.address())
  const at = `127.0.0.1:${own}`
  const { gateway, ask, port } = yield* attacked(`
gateways: { default: { port: 8080 } }
routes: [{ backends: [{ host: "${at}" }] }]
llm:
  port: 8081
  models:
    - { name: open, provider: openai, params: { baseUrl: "http://${at}/v1", apiKey: k } }
    - { name: "*", provider: gemini, params: { hostOverride: "${at}", apiKey: k } }
mcp: { port: 8082, targets: [{ name: t, mcp: { host: "http://${at}/mcp" } }] }
`)
  const legacy = yield* attacked(`mcp: { port: 8080, targets: [{ name: t, sse: { host: "http://${at}/sse" } }] }`)
  const type = { "content-type": "application/json", accept: "application/json, text/event-stream" }
  const post = async (to: number, path: string, body: object) => {
    const text = told(JSON.stringify(body))
    const lines = Object.entries(type).map(([name, value]) => `${name}: ${value}`)
    const client = new RawClient(to).send(
      `POST ${path} HTTP/1.1\r\nHost: localhost\r\n${lines.join("\r\n")}\r\nContent-Length: ${Buffer.byteLength(text)}\r\nConnection: close\r\n\r\n`
    )
    client.send(Buffer.from(text))
    return client
  }
  const initialize = {
    jsonrpc: "2.0",
    id: 1,
    method: "initialize",
    params: { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "c", version: "1" } }
  }
  const chat = { model: "open", messages: [{ role: "user", content: "hello" }] }
  const reach = async ({ through, target = "/", lines = ["Host: a"], asked = chat }: Forgery): Promise<RawClient> => {
    switch (through) {
      case "backend":
        return new RawClient(port).send(
          told(`GET ${target} HTTP/1.1\r\n${lines.join("\r\n")}\r\nConnection: close\r\n\r\n`)
        )
      case "model":
        return post(gateway.port(8081)!, "/v1/chat/completions", chat)
      case "translation":
        return post(gateway.port(8081)!, "/v1/chat/completions", asked === chat ? { ...chat, model: "gemini" } : asked)
      case "tool":
        return post(gateway.port(8082)!, "/mcp", initialize)
      case "endpoint":
        return post(legacy.port, "/mcp", initialize)
    }
  }
  const trial: Trial<Forgery> = (forgery) =>
    Effect.promise(async () => {
      now = forgery
      paths.length = 0
      const before = bystander.sockets.length
      const client = await reach(forgery)
      // A server that names no place to post to leaves its caller waiting: nothing more is to come then.
      const patience = forgery.through === "endpoint" ? 300 : 5_000
      await client
        .until(({ ended, closed }) => ended || closed, patience)
        .catch((error) => {
          if (forgery.through !== "endpoint") throw error
        })
      client.socket.destroy()
      if (bystander.sockets.length > before) throw new Error(`it was asked; the caller received ${client.text}`)
      // Whoever is refused at the door proves nothing of what is behind it.
      if ((forgery.redirect !== undefined || forgery.through === "endpoint") && paths.length === 0)
        throw new Error(`the server was not asked; the caller received ${client.text}`)
      const strayed = paths.filter(
        (path) =>
          forgery.through === "translation" &&
          !/^\/v1(?:beta)?\/models\/(?!\.{1,2}:)[^/?#\\]+:generateContent$/.test(path)
      )
      if (strayed.length > 0) throw new Error(`the model was asked at ${strayed}`)
      // What names another server names no path of this one.
      if (paths.some((path) => path.startsWith("/post"))) throw new Error(`the server was posted to at ${paths}`)
      const { status } = (await ask({ path: "/after", headers: { host: "a" } })) ?? { status: 0 }
      if (status !== (forgery.redirect ?? 200)) throw new Error(`afterwards ${status}`)
    })
  return trial
})

export const forgery = attack<Forgery>({
  class: "request forgery by the server",
  name: "request forgery",
  proves: "nobody makes the gateway ask an address that its configuration does not name",
  cases,
  open
})
