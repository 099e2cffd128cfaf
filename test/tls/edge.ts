/** A whole proxy whose clients speak TLS, and such clients: the runtime's own, over sockets. */
import { readFileSync } from "node:fs"
import { join } from "node:path"
import { type ConnectionOptions, connect, type TLSSocket } from "node:tls"
import { Effect, type Scope } from "effect"
import { type Headgate, start } from "../../src/main/library.ts"
import { eventually } from "../http/raw-client.ts"

export const fixtures = join(import.meta.dirname, "../http/fixtures/tls")
export const at = (name: string) => join(fixtures, name)
export const pem = (name: string) => readFileSync(at(name), "utf8")

/** The fields of a configuration that show a certificate of the fixtures. */
export const showing = (name: string) => `cert: ${at(`${name}.pem`)}, key: ${at(`${name}.key`)}`

/** The options of a client that presents one. */
export const as = (name: string): ConnectionOptions => ({ cert: pem(`${name}.pem`), key: pem(`${name}.key`) })

/** One answer to one request. */
export interface Answered {
  readonly status: number
  readonly head: string
  readonly body: string
}

/** A connection that stays open between its requests. */
export interface Client {
  readonly socket: TLSSocket
  /** The last ticket that the server has given. */
  readonly session: () => Buffer | undefined
  readonly ask: (host: string, path?: string, headers?: string) => Promise<Answered>
  /** Ends when the server has closed the connection. */
  readonly closed: Promise<void>
}

/** Connects, or rejects with the code of what went wrong. */
export const client = (port: number, options: ConnectionOptions = {}): Promise<Client> =>
  new Promise((resolve, reject) => {
    let session: Buffer | undefined
    let received = ""
    let waiting: ((answer: Answered) => void) | undefined
    let failed: ((error: Error) => void) | undefined
    const socket = connect({
      port,
      host: "127.0.0.1",
      servername: "localhost",
      ca: pem("authority.pem"),
      ALPNProtocols: ["http/1.1"],
      checkServerIdentity: () => undefined,
      ...options
    })
    const look = () => {
      const [, head, length] = /^(HTTP\/1\.1[\s\S]*?content-length: (\d+)[\s\S]*?)\r\n\r\n/.exec(received) ?? []
      if (head === undefined || waiting === undefined) return
      const end = head.length + 4 + Number(length)
      if (received.length < end) return
      const answer = { status: Number(head.slice(9, 12)), head, body: received.slice(head.length + 4, end) }
      received = received.slice(end)
      const told = waiting
      waiting = failed = undefined
      told(answer)
    }
    const closed = new Promise<void>((resolve) => socket.on("close", () => resolve()))
    socket.setEncoding("latin1")
    socket.on("session", (ticket) => {
      session = ticket
    })
    socket.on("data", (chunk: string) => {
      received += chunk
      look()
    })
    socket.on("error", (error: NodeJS.ErrnoException) => {
      const told = Object.assign(new Error(error.code), { code: error.code })
      reject(told)
      failed?.(told)
    })
    socket.on("close", () => {
      const told = Object.assign(new Error("closed"), { code: "closed" })
      reject(told)
      failed?.(told)
    })
    socket.on("secureConnect", () =>
      resolve({
        socket,
        session: () => session,
        ask: (host, path = "/", headers = "") =>
          new Promise((resolve, reject) => {
            waiting = resolve
            failed = reject
            socket.write(`GET ${path} HTTP/1.1\r\nhost: ${host}\r\n${headers}\r\n`)
          }),
        closed
      })
    )
  })

/** One request on a connection of its own: `<status> <body>`, or what came of the handshake. */
export const once = async (port: number, host: string, options: ConnectionOptions = {}, path = "/") => {
  let made: Client | undefined
  try {
    made = await client(port, options)
    const { status, body } = await made.ask(host, path)
    return `${status} ${body}`
  } catch (error) {
    return error instanceof Error && "code" in error ? String(error.code) : String(error)
  } finally {
    made?.socket.destroy()
  }
}

/** The same as an effect. */
export const asked = (...args: Parameters<typeof once>) => Effect.promise(() => once(...args))

/** A client that is closed with the scope. */
export const connected = (...args: Parameters<typeof client>) =>
  Effect.acquireRelease(
    Effect.promise(() => client(...args)),
    ({ socket }) => Effect.sync(() => socket.destroy())
  )

export interface Secure {
  readonly gateway: Headgate
  readonly port: number
  readonly log: ReadonlyArray<string>
}

/** Serves a configuration on a port of this machine: that of 8443. */
export const serving = (text: string, configured = 8443): Effect.Effect<Secure, never, Scope.Scope> =>
  Effect.gen(function* () {
    const log: Array<string> = []
    const gateway = yield* Effect.orDie(
      start(text, {
        ephemeral: true,
        host: "127.0.0.1",
        log: (line) => log.push(line),
        env: { RUST_LOG: "info,connection=debug" }
      })
    )
    return { gateway, port: gateway.port(configured)!, log }
  })

/** A route that answers with what an expression says. */
export const telling = (expression: string) =>
  `{ policies: { directResponse: { status: 200, bodyExpression: '${expression}' } } }`

/** Waits for a line of the log. */
export const logged = (log: ReadonlyArray<string>, line: RegExp) =>
  Effect.promise(() => eventually(() => log.some((each) => line.test(each))))
