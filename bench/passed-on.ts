/**
 * What bytes cost that are passed on as they are: CPU time of the proxy process as a ratio to two pipes of node, in turns. Connections
 * of TCP by the MiB of a large push; after an upgrade by the message that goes there and back.
 */
import { connect, type Socket } from "node:net"
import { join } from "node:path"
import { setTimeout } from "node:timers/promises"
import { type ProxyProcess, startBytesOrigin, startProxy } from "./processes.ts"
import { type Budget, headgate, type Peer, type Ports, quiet } from "./scenarios.ts"
import { type Spread, spread } from "./spread.ts"

const mebibyte = 1024 * 1024
const pushed = 256
const chunk = Buffer.alloc(mebibyte, 120)
const connections = 32

export interface PassedOnRow {
  readonly name: string
  readonly budget: Budget | undefined
  readonly ratio: Spread
  /** Microseconds of the proxy by unit. */
  readonly micros: number
}

interface PassedOn {
  readonly name: string
  readonly budget?: Budget
  readonly config: (ports: Ports) => string
  /** Makes the load. @returns how many units there were. */
  readonly run: (port: number, duration: number) => Promise<number>
}

/** Resolves when the origin has taken all of it. */
const push = (port: number): Promise<number> =>
  new Promise((resolve, reject) => {
    let left = pushed
    const socket = connect({ port, host: "127.0.0.1", allowHalfOpen: true })
    const send = () => {
      while (left > 0) {
        left--
        if (!socket.write(chunk)) return
      }
      socket.end()
    }
    socket
      .on("connect", send)
      .on("drain", send)
      .on("error", reject)
      .on("end", () => resolve(pushed))
      .resume()
  })

const upgrade =
  "GET / HTTP/1.1\r\nhost: bench.example\r\nconnection: upgrade\r\nupgrade: websocket\r\n" +
  "sec-websocket-version: 13\r\nsec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"

/** Text of a hundred bytes, masked with zeros. */
const message = Buffer.concat([Buffer.from([0x81, 0x80 + 100, 0, 0, 0, 0]), Buffer.alloc(100, 120)])

/** A connection on which a message is sent whenever the one before has come back. */
const talk = (port: number, came: () => void, failed: (error: Error) => void): Socket => {
  let left = 0
  let head = ""
  const socket = connect({ port, host: "127.0.0.1", noDelay: true }, () => socket.write(upgrade))
  const ask = () => {
    left = message.length
    socket.write(message)
  }
  socket.on("error", failed).on("data", (bytes) => {
    if (left > 0) {
      left -= bytes.length
      if (left > 0) return
      came()
      ask()
      return
    }
    head += bytes.toString("latin1")
    if (!head.endsWith("\r\n\r\n")) return
    if (head.startsWith("HTTP/1.1 101")) ask()
    else failed(new Error(head))
  })
  return socket
}

const talking = (port: number, duration: number): Promise<number> =>
  new Promise((resolve, reject) => {
    let messages = 0
    const sockets = Array.from({ length: connections }, () => talk(port, () => messages++, reject))
    const over = () => {
      for (const socket of sockets) socket.destroy()
      resolve(messages)
    }
    void setTimeout(duration).then(over)
  })

const rows: ReadonlyArray<PassedOn> = [
  {
    name: "TCP, MiB passed on",
    budget: { goal: 1.05, ceiling: 1.2 },
    config: ({ proxy, upstream }) => `${quiet}
gateways: {default: {port: ${proxy}, protocol: TCP}}
tcpRoutes: [{backends: [{host: "127.0.0.1:${upstream}"}]}]
`,
    run: push
  },
  {
    name: "WebSocket, message and its echo",
    config: ({ proxy, upstream }) => `${quiet}
gateways: {default: {port: ${proxy}}}
routes: [{backends: [{host: "127.0.0.1:${upstream}"}]}]
`,
    run: talking
  }
]

const pipe: Peer = {
  name: "pipe",
  proxy: ({ proxy, upstream }) => ({
    command: process.execPath,
    args: [join(import.meta.dirname, "pipe.ts"), String(proxy), String(upstream)]
  })
}

/** Microseconds by unit. */
const cost = async (proxy: ProxyProcess, { run }: PassedOn, duration: number): Promise<number> => {
  const before = await proxy.usage()
  const units = await run(proxy.port, duration)
  await setTimeout(20)
  const after = await proxy.usage()
  return (after.cpu - before.cpu) / Math.max(1, units)
}

/** Of those whose name has this part. */
export const measurePassedOn = async (
  only: string,
  rounds: number,
  duration: number
): Promise<ReadonlyArray<PassedOnRow>> => {
  const measured: Array<PassedOnRow> = []
  const wanted = rows.filter(({ name }) => name.includes(only))
  if (wanted.length === 0) return measured
  const origin = await startBytesOrigin()
  try {
    for (const row of wanted) {
      console.error(`measuring ${row.name} …`)
      const proxies: Array<ProxyProcess> = []
      try {
        for (const each of [pipe, { name: row.name, ...headgate(row.config) }])
          proxies.push(await startProxy(each, origin.port, "null"))
        for (const proxy of proxies) await cost(proxy, row, 2 * duration)
        const costs = proxies.map((): Array<number> => [])
        const order = [...proxies.keys()]
        for (let round = 0; round < rounds; round++) {
          order.reverse()
          for (const i of order) costs[i]!.push(await cost(proxies[i]!, row, duration))
        }
        const [theirs, ours] = [costs[0]!, costs[1]!]
        const ratio = spread(ours.map((value, round) => value / theirs[round]!))
        measured.push({ name: row.name, budget: row.budget, ratio, micros: spread(ours).median })
      } finally {
        await Promise.all(proxies.map((proxy) => proxy.stop()))
      }
    }
  } finally {
    await origin.stop()
  }
  return measured
}
