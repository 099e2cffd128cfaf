/** h2spec and h2load: HTTP/2 as others test it, beside a bare server of the runtime in the same run. */
import { spawnSync } from "node:child_process"
import { existsSync, mkdirSync } from "node:fs"
import { createSecureServer, createServer, type Http2Server, type ServerHttp2Stream } from "node:http2"
import { join } from "node:path"

/** What became of one question. */
interface Verdict {
  readonly about: string
  /** `undefined`: nothing is wrong. */
  readonly fault: string | undefined
}

type Run = (command: string, args: ReadonlyArray<string>) => Promise<{ readonly said: string }>

const version = "v2.2.1+incompatible"
const folder = join(import.meta.dirname, "../../node_modules/.cache/headgate-judges/h2spec")
const program = join(folder, "h2spec")

/** What fails where the runtime by itself does not, and why that is right. */
const differing: Readonly<Record<string, string>> = {
  "without TLS: Sends invalid connection preface":
    "HTTP/1.1 is spoken on the same port: what is no preface is a malformed request of that, and answered as one"
}

const build = (): string => {
  mkdirSync(folder, { recursive: true })
  const options = { env: { ...process.env, GOBIN: folder } }
  if (!existsSync(program)) spawnSync("go", ["install", `github.com/summerwind/h2spec/cmd/h2spec@${version}`], options)
  if (!existsSync(program)) throw new Error(`h2spec ${version} is not to be had (it is built with Go)`)
  return program
}

/** A server of the runtime that reads each body and answers. */
const serving = async (server: Http2Server): Promise<number> => {
  server.on("sessionError", () => {})
  server.on("stream", (stream: ServerHttp2Stream) => {
    stream.on("error", () => {})
    stream.resume()
    stream.on("end", () => {
      if (stream.destroyed) return
      stream.respond({ ":status": 200 })
      stream.end("hello")
    })
  })
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
  const address = server.address()
  return typeof address === "object" && address !== null ? address.port : 0
}

/** The cases that fail at a port, and how many there were. */
const failing = async (port: number, secure: boolean, run: Run) => {
  const flags = ["-h", "localhost", "-p", String(port), "-o", "2", ...(secure ? ["-t", "-k"] : [])]
  const { said } = await run("timeout", ["300", program, ...flags])
  const [, tests = "0"] = /^(\d+) tests,/m.exec(said) ?? []
  const failures = said.slice(said.indexOf("Failures:"))
  const failed = said.includes("Failures:")
    ? Array.from(failures.matchAll(/× \d+: (.+)$/gm), ([, name]) => name!.trim())
    : []
  return { tests: Number(tests), failed }
}

export const h2spec = async (
  ports: { readonly plain: number; readonly secure: number },
  { certificate, key }: { readonly certificate: string; readonly key: string },
  run: Run
): Promise<ReadonlyArray<Verdict>> => {
  build()
  const settings = { maxConcurrentStreams: 100 }
  const verdicts: Array<Verdict> = []
  for (const [how, secure, port, server] of [
    ["without TLS", false, ports.plain, createServer({ settings })],
    ["with TLS", true, ports.secure, createSecureServer({ settings, cert: certificate, key })]
  ] as const) {
    const bare = await failing(await serving(server), secure, run)
    const own = await failing(port, secure, run)
    server.close()
    const about = `h2spec ${how}`
    if (own.tests < 100) verdicts.push({ about, fault: `it has tried ${own.tests} cases alone` })
    else
      console.log(`${about}: of ${own.tests} cases ${own.failed.length} fail, at a bare server ${bare.failed.length}`)
    for (const name of own.failed.filter((each) => !bare.failed.includes(each))) {
      const why = differing[`${how}: ${name}`]
      if (why !== undefined) console.log(`listed: ${about}: ${name}: ${why}`)
      verdicts.push({
        about: `${about}: ${name}`,
        fault: why === undefined ? "it does not fail at a bare server" : undefined
      })
    }
    verdicts.push({ about, fault: undefined })
  }
  return verdicts
}

/** 20,000 requests over 4 connections, 100 at once on each: all are answered. */
export const h2load = async (url: string, run: Run): Promise<Verdict> => {
  const { said } = await run("timeout", ["120", "h2load", "-n", "20000", "-c", "4", "-m", "100", url])
  const about = `h2load ${url.startsWith("https") ? "with" : "without"} TLS`
  return { about, fault: /status codes: 20000 2xx/.test(said) ? undefined : said.trim().slice(-400) }
}
