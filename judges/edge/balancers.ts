/**
 * HAProxy as a balancer before the gateway: the PROXY headers that it writes, with whatever it likes to add, tell the gateway who its
 * client is, in front of HTTP and of TCP.
 */
import { spawn } from "node:child_process"
import { once } from "node:events"
import { writeFileSync } from "node:fs"
import { connect, createServer } from "node:net"
import { open } from "../../src/main/library.ts"
import { freePorts } from "../../test/free-ports.ts"
import { until } from "../../test/program.ts"
import { install } from "../debian.ts"

/** Options of a server of HAProxy, by what is asked of them. */
const headers: Readonly<Record<string, string>> = {
  "version 1": "send-proxy",
  "version 2": "send-proxy-v2",
  "version 2 with a checksum and an id": "send-proxy-v2 proxy-v2-options crc32c,unique-id",
  "version 2, and checks of its own": "send-proxy-v2 check inter 100ms"
}

/** Where its connections to the gateway come from. */
const balancer = "127.0.0.5"

const configuration = (echo: number) => `
frontendPolicies:
  proxyProtocol: { version: all }
  networkAuthorization: { rules: ['source.rawAddress == "${balancer}"'] }
gateways: { default: { port: 8080 }, lines: { port: 8081, protocol: TCP } }
routes:
- policies:
    directResponse: { status: 200, bodyExpression: 'source.address + " " + string(source.port) + " " + source.rawAddress' }
tcpRoutes: [{ gateways: lines, backends: [{ host: "127.0.0.1:${echo}" }] }]
`

/** What is answered to some bytes, and the port that they came from. */
const exchanged = (port: number, said: string) =>
  new Promise<{ readonly from: number; readonly text: string }>((resolve) => {
    let text = ""
    let from = 0
    const socket = connect({ port, host: "127.0.0.1", localAddress: "127.0.0.7" }, () => {
      from = socket.localPort ?? 0
      socket.write(said)
    })
    socket.setEncoding("latin1").on("data", (chunk: string) => {
      text += chunk
      if (text === said) socket.end()
    })
    socket.on("error", () => {}).on("close", () => resolve({ from, text }))
  })

/** @param folder for its configuration. */
export const balancers = async (folder: string) => {
  install("haproxy")
  const echo = createServer((socket) => socket.on("error", () => {}).pipe(socket)).listen(0, "127.0.0.1")
  await once(echo, "listening")
  const address = echo.address()
  const gateway = await open(configuration(typeof address === "object" && address !== null ? address.port : 0), {
    ephemeral: true,
    host: "127.0.0.1"
  })
  const names = Object.keys(headers)
  const ports = await freePorts(2 * names.length)
  const listening = names.flatMap((name, index) =>
    [8080, 8081].map((target, at) => {
      const server = `127.0.0.1:${gateway.port(target)} source ${balancer} ${headers[name]}`
      return `listen l${2 * index + at}\n  bind 127.0.0.1:${ports[2 * index + at]}\n  server s ${server}\n`
    })
  )
  const times = ["connect", "client", "server"].map((what) => `  timeout ${what} 5s\n`).join("")
  const file = `${folder}/haproxy.cfg`
  writeFileSync(file, `defaults\n  mode tcp\n${times}${listening.join("")}`)
  const program = spawn("/usr/sbin/haproxy", ["-f", file, "-db"], { stdio: "inherit" })
  try {
    await until("HAProxy passes on", async () => (await exchanged(ports[1]!, "ready")).text === "ready")
    const verdicts: Array<{ readonly about: string; readonly fault: string | undefined }> = []
    for (const [index, name] of names.entries()) {
      const request = "GET / HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n"
      const { from, text } = await exchanged(ports[2 * index]!, request)
      const isKnown = text.endsWith(`\r\n\r\n127.0.0.7 ${from} ${balancer}`)
      verdicts.push({ about: `HAProxy, ${name}, HTTP`, fault: isKnown ? undefined : text })
      const line = await exchanged(ports[2 * index + 1]!, "a line")
      verdicts.push({ about: `HAProxy, ${name}, TCP`, fault: line.text === "a line" ? undefined : line.text })
    }
    return verdicts
  } finally {
    program.kill()
    echo.close()
    await gateway.close()
  }
}
