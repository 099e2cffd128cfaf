/** slowhttptest in its four modes, with and without TLS: the service stays available, however many connections are slow. */
import { createServer } from "node:http"
import { open } from "../../src/main/library.ts"

/** How a program that runs beside the gateway ended, and what it said. */
type Run = (command: string, args: ReadonlyArray<string>) => Promise<{ readonly said: string }>

const modes = [
  ["slow heads", ["-H", "-i", "2"]],
  ["slow bodies", ["-B", "-i", "2", "-s", "8192"]],
  ["ranges", ["-R", "-t", "HEAD", "-a", "10", "-b", "3000"]],
  ["slow readers", ["-X", "-w", "512", "-y", "1024", "-n", "5", "-z", "32", "-k", "3"]]
] as const

const seconds = 20
const connections = 400

export const slowClients = async (
  run: Run,
  shown: string
): Promise<ReadonlyArray<{ readonly about: string; readonly fault: string | undefined }>> => {
  const body = "x".repeat(1_000_000)
  const backend = createServer((request, response) => {
    request.resume()
    response.end(body)
  })
  await new Promise<void>((resolve) => backend.listen(0, "127.0.0.1", resolve))
  const address = backend.address()
  const port = typeof address === "object" && address !== null ? address.port : 0
  const gateway = await open(
    `
gateways: { plain: { port: 8080 }, secure: { port: 8443, tls: { ${shown} } } }
routes: [{ gateways: [plain, secure], backends: [{ host: "127.0.0.1:${port}" }] }]
`,
    { ephemeral: true, host: "127.0.0.1" }
  )
  const verdicts: Array<{ readonly about: string; readonly fault: string | undefined }> = []
  try {
    for (const [scheme, configured] of [
      ["http", 8080],
      ["https", 8443]
    ] as const)
      for (const [mode, flags] of modes) {
        const url = `${scheme}://localhost:${gateway.port(configured)}/`
        const size = ["-c", String(connections), "-r", "200", "-l", String(seconds), "-p", "3"]
        const { said } = await run("timeout", ["60", "slowhttptest", ...flags, ...size, "-u", url])
        const plain = said.replaceAll(/\u001b\[[0-9;]*m/g, "")
        const all = [...plain.matchAll(/service available:\s*(YES|NO)/g)].map(([, answer]) => answer)
        const fault =
          all.length === 0 ? plain.trim().slice(-400) : all.includes("NO") ? "it was unavailable" : undefined
        verdicts.push({ about: `slowhttptest: ${mode}, ${scheme}`, fault })
      }
  } finally {
    await gateway.close()
    backend.closeAllConnections()
    backend.close()
  }
  return verdicts
}
