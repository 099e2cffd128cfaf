/** A name server on loopback that says what a test wants, over UDP and, where that was cut short, over TCP. */
import { createSocket } from "node:dgram"
import { createServer as createTcpServer, isIP } from "node:net"
import { Effect } from "effect"
import { portOf } from "./edge.ts"

export interface Records {
  readonly addresses: ReadonlyArray<string>
  /** Seconds. Default 60. */
  readonly ttl?: number
  /** The name that the asked one stands for. */
  readonly alias?: string
}

export type Reply =
  | Records
  /** There is no such name. */
  | "absent"
  /** Nobody can say. */
  | "broken"
  | "silence"

/** What is said of a name. The addresses of the other family are left out. */
export type Zone = (name: string, family: "v4" | "v6", over: "udp" | "tcp") => Reply | { readonly cut: true }

const nameBytes = (name: string): Buffer =>
  Buffer.concat([
    ...name.split(".").map((label) => Buffer.concat([Buffer.from([label.length]), Buffer.from(label)])),
    Buffer.from([0])
  ])

const addressBytes = (address: string): Buffer => {
  if (isIP(address) === 4) return Buffer.from(address.split(".").map(Number))
  const [before = "", after] = address.split("::")
  const groups = (text: string | undefined) => (text ? text.split(":") : [])
  const gap = new Array<string>(8 - groups(before).length - groups(after).length).fill("0")
  const all = after === undefined ? groups(before) : [...groups(before), ...gap, ...groups(after)]
  return Buffer.concat(all.map((group) => Buffer.from(group.padStart(4, "0"), "hex")))
}

const record = (owner: Buffer, type: number, ttl: number, data: Buffer): Buffer => {
  const head = Buffer.alloc(10)
  head.writeUInt16BE(type, 0)
  head.writeUInt16BE(1, 2)
  head.writeUInt32BE(ttl, 4)
  head.writeUInt16BE(data.length, 8)
  return Buffer.concat([owner, head, data])
}

/** Yields where it listens, and the questions that it was asked. */
export const nameServer = (zone: Zone) =>
  Effect.gen(function* () {
    const asked: Array<string> = []
    const answer = (query: Buffer, over: "udp" | "tcp"): Buffer | undefined => {
      let end = 12
      const labels: Array<string> = []
      for (let length = query[end]!; length !== 0; length = query[end]!) {
        labels.push(query.toString("latin1", end + 1, end + 1 + length))
        end += length + 1
      }
      const question = query.subarray(12, end + 5)
      const type = query.readUInt16BE(end + 1)
      const family = type === 1 ? "v4" : "v6"
      asked.push(`${labels.join(".")} ${family}`)
      const reply = zone(labels.join("."), family, over)
      if (reply === "silence") return undefined
      const head = Buffer.alloc(12)
      query.copy(head, 0, 0, 2)
      const records: Array<Buffer> = []
      let flags = 0x8180
      if (reply === "absent") flags |= 3
      else if (reply === "broken") flags |= 2
      else if ("cut" in reply) flags |= 0x0200
      else {
        const { addresses, ttl = 60, alias } = reply
        const owner = alias === undefined ? Buffer.from([0xc0, 12]) : nameBytes(alias)
        if (alias !== undefined) records.push(record(Buffer.from([0xc0, 12]), 5, ttl, nameBytes(alias)))
        for (const address of addresses)
          if (isIP(address) === (family === "v4" ? 4 : 6)) records.push(record(owner, type, ttl, addressBytes(address)))
      }
      head.writeUInt16BE(flags, 2)
      head.writeUInt16BE(1, 4)
      head.writeUInt16BE(records.length, 6)
      return Buffer.concat([head, question, ...records])
    }
    const tcp = createTcpServer((socket) => {
      socket.on("error", () => {})
      socket.on("data", (bytes: Buffer) => {
        const reply = answer(bytes.subarray(2), "tcp")
        if (reply === undefined) return
        const length = Buffer.alloc(2)
        length.writeUInt16BE(reply.length)
        socket.write(Buffer.concat([length, reply]))
      })
    })
    yield* Effect.acquireRelease(
      Effect.promise(() => new Promise<void>((resolve) => tcp.listen(0, "127.0.0.1", resolve))),
      () => Effect.sync(() => tcp.close())
    )
    const port = portOf(tcp.address())
    const udp = createSocket("udp4", (query, { port: from, address }) => {
      const reply = answer(query, "udp")
      if (reply !== undefined) udp.send(reply, from, address)
    })
    yield* Effect.acquireRelease(
      Effect.promise(() => new Promise<void>((resolve) => udp.bind(port, "127.0.0.1", resolve))),
      () => Effect.sync(() => udp.close())
    )
    return { servers: [`127.0.0.1:${port}`], asked }
  })
