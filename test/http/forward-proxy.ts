/** An HTTP proxy of tests: tells what it was asked, and lets through who shows what it wants to see. */
import { readFileSync } from "node:fs"
import { createServer, type IncomingMessage, request, type ServerResponse } from "node:http"
import { createServer as createSecureServer } from "node:https"
import { connect, type Server, type Socket } from "node:net"
import { join } from "node:path"
import { Effect } from "effect"
import { portOf } from "./edge.ts"

const fixtures = join(import.meta.dirname, "fixtures")
export const certificate = join(fixtures, "localhost.cert.pem")
export const secure = { key: readFileSync(join(fixtures, "localhost.key.pem")), cert: readFileSync(certificate) }

/** What a proxy was asked. */
export interface Asked {
  readonly line: string
  readonly headers: IncomingMessage["headers"]
}

/** A server of this machine until the scope ends, with all that is connected to it; yields its port. */
export const listening = (server: Server) =>
  Effect.acquireRelease(
    Effect.promise(async () => {
      const sockets = new Set<Socket>()
      server.on("connection", (socket: Socket) => sockets.add(socket))
      await new Promise<void>((done) => server.listen(0, "localhost", done))
      return { sockets, port: portOf(server.address()) }
    }),
    ({ sockets }) =>
      Effect.promise(
        () =>
          new Promise<void>((done) => {
            server.close(() => done())
            for (const socket of sockets) socket.destroy()
          })
      )
  ).pipe(Effect.map(({ port }) => port))

/** An HTTP proxy for requests in absolute form and for tunnels, that lets nobody through without `authorization`. */
export const proxy = ({
  tls = false,
  authorization
}: {
  readonly tls?: boolean
  readonly authorization?: string
} = {}) =>
  Effect.gen(function* () {
    const asked: Array<Asked> = []
    const open = new Set<Socket>()
    const server = tls ? createSecureServer(secure) : createServer()
    const isWelcome = ({ method, url, headers }: IncomingMessage) => {
      asked.push({ line: `${method} ${url}`, headers })
      return authorization === undefined || headers["proxy-authorization"] === authorization
    }
    server.on("request", (incoming: IncomingMessage, response: ServerResponse) => {
      if (!isWelcome(incoming)) {
        response.writeHead(407, { "proxy-authenticate": "Basic" }).end("who are you?")
        return
      }
      const { "proxy-authorization": _, ...headers } = incoming.headers
      const onward = request(incoming.url!, { method: incoming.method, headers }, (answer) => {
        response.writeHead(answer.statusCode!, answer.headers)
        answer.pipe(response)
      })
      onward.on("error", () => response.writeHead(502).end())
      incoming.pipe(onward)
    })
    server.on("connect", (incoming: IncomingMessage, client: Socket) => {
      client.on("error", () => {})
      if (!isWelcome(incoming)) {
        client.end(
          "HTTP/1.1 407 Proxy Authentication Required\r\nproxy-authenticate: Basic\r\ncontent-length: 3\r\n\r\nno\n"
        )
        return
      }
      const [, host, port] = /^(.*):(\d+)$/.exec(incoming.url!)!
      const onward = connect(Number(port), host!.replace(/[[\]]/g, ""), () => {
        client.write("HTTP/1.1 200 Connection established\r\nvia: test\r\n\r\n")
        open.add(client)
        client.once("close", () => open.delete(client))
        onward.pipe(client).pipe(onward)
      })
      onward.on("error", () => client.destroy())
      client.on("close", () => onward.destroy())
    })
    const port = yield* listening(server)
    return { asked, open, port, lines: () => asked.splice(0).map(({ line }) => line) }
  })
