/**
 * Connections to a port with TLS that are none: hellos that were cut and mutated, other protocols, records out of order. Each is
 * closed soon, nothing of it is kept, and whoever comes next is served.
 */
import { connect } from "node:net"
import { Effect, Schema } from "effect"
import * as Arbitrary from "effect/Arbitrary"
import { send } from "../client.ts"
import { asked, serving, showing } from "../tls/edge.ts"
import { attack } from "./attack.ts"
import { dice } from "./messages.ts"
import { drawnHello } from "./tls-hellos.ts"

interface Knock {
  readonly title: string
  /** What each of some connections at once sends. */
  readonly firsts: ReadonlyArray<Buffer>
}

const seeded = (seed: number): Knock => {
  const random = dice(seed)
  const firsts = Array.from({ length: 20 }, () => {
    const { bytes } = drawnHello(random)
    return random.chance(30) ? Buffer.concat([bytes, drawnHello(random).bytes]) : bytes
  })
  return { title: `20 connections of the seed ${seed}`, firsts }
}

const raw = (title: string, text: string): Knock => ({ title, firsts: [Buffer.from(text, "latin1")] })

export const tlsHandshakes = attack<Knock>({
  class: "slow and flooding clients",
  name: "handshakes of TLS",
  proves: "whatever comes to a port with TLS is closed in time, and whoever comes next is served",
  cases: [
    raw("HTTP", "GET / HTTP/1.1\r\nhost: localhost\r\n\r\n"),
    raw("the preface of HTTP/2", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"),
    raw("a hello of SSL 2", "\x80\x2e\x01\x03\x01\x00\x15\x00\x00\x00\x10"),
    raw("an alert", "\x15\x03\x03\x00\x02\x02\x28"),
    raw("data before a handshake", "\x17\x03\x03\x00\x05hello"),
    raw("a change of ciphers", "\x14\x03\x03\x00\x01\x01"),
    raw("an empty record", "\x16\x03\x01\x00\x00"),
    raw("a record of 65535 bytes", `\x16\x03\x01\xff\xff${"\x01".repeat(70_000)}`),
    raw("a hello of 16 MB", `\x16\x03\x01\x40\x00\x01\xff\xff\xff${"x".repeat(16_380)}`),
    raw("a server's hello", "\x16\x03\x03\x00\x04\x02\x00\x00\x00"),
    raw("a hello that is empty", "\x16\x03\x01\x00\x04\x01\x00\x00\x00"),
    raw("zeros", "\0".repeat(1000)),
    raw("a CONNECT", "CONNECT a.example:443 HTTP/1.1\r\nhost: a.example\r\n\r\n")
  ],
  generated: {
    cases: Arbitrary.map(
      Arbitrary.schema(Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 2 ** 31 }))),
      seeded
    ),
    few: 20,
    many: 5000
  },
  open: Effect.gen(function* () {
    const { port, gateway } = yield* serving(`
frontendPolicies: { tls: { handshakeTimeout: 200ms } }
gateways: { default: { port: 8443, tls: { ${showing("server")} } } }
routes: [{ policies: { directResponse: { status: 200, body: served } } }]
`)
    const knock = (bytes: Buffer) =>
      new Promise<void>((resolve) => {
        const socket = connect(port, "127.0.0.1", () => socket.write(bytes))
        socket.on("error", () => {})
        socket.on("close", () => resolve())
        socket.resume()
      })
    const open = async () => {
      const { body } = await send(gateway.ports.stats!, { path: "/metrics" })
      return Number(/^headgate_client_connections (\d+)$/m.exec(body)?.[1])
    }
    return ({ firsts }: Knock) =>
      Effect.gen(function* () {
        yield* Effect.promise(() => Promise.all(firsts.map(knock)))
        const answer = yield* asked(port, "localhost")
        if (answer !== "200 served") return yield* Effect.fail(new Error(`the next client: ${answer}`))
        let left = Number.NaN
        const look = Effect.promise(async () => {
          left = await open()
        })
        // That of the client that was served goes by itself.
        for (let i = 0; i < 100 && left !== 0; i++) yield* Effect.andThen(look, Effect.sleep(10))
        if (left !== 0) return yield* Effect.fail(new Error(`${left} connections are still open`))
      })
  })
})
