/** Load at a fixed rate by somebody else's generator: vegeta, built from its sources with Go. */
import { spawn, spawnSync } from "node:child_process"
import { existsSync } from "node:fs"
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import type { Request } from "./scenarios.ts"

const version = "12.12.0"
const folder = join(import.meta.dirname, "../node_modules/.cache/headgate-bench/vegeta")
const program = join(folder, "vegeta")

/** Makes sure that the program is there; fails when it cannot be had. */
export const installVegeta = async (): Promise<string> => {
  if (!existsSync(program)) {
    await mkdir(folder, { recursive: true })
    await rm(join(folder, "go.mod"), { force: true })
    const module = "github.com/tsenart/vegeta/v12"
    for (const args of [
      ["mod", "init", "bench/vegeta"],
      ["mod", "edit", `-require=${module}@v${version}`],
      ["build", "-mod=mod", "-o", program, module]
    ])
      spawnSync("go", args, { cwd: folder, stdio: ["ignore", "ignore", "inherit"] })
  }
  if (!existsSync(program)) throw new Error(`vegeta ${version} is not to be had (it is built with Go)`)
  return `vegeta ${version}`
}

export interface Attack {
  readonly port: number
  readonly request: Request
  /** Requests per second. */
  readonly rate: number
  readonly connections: number
  /** Milliseconds. */
  readonly duration: number
}

/** What became of one request. */
export interface Shot {
  /** Milliseconds since 1970. */
  readonly sent: number
  /** 0: there was no answer. */
  readonly status: number
  /** Milliseconds from when it was sent. */
  readonly latency: number
}

/** Latencies in milliseconds from when a request was due, sorted. */
export const attack = async (given: Attack): Promise<ReadonlyArray<number>> => {
  const shots = await shoot(given)
  const failed = shots.filter(({ status }) => status < 200 || status > 299).length
  if (failed > 0) throw new Error(`${failed} of ${shots.length} requests of vegeta failed`)
  return shots.map(({ latency }) => latency).sort((a, b) => a - b)
}

/** Every request, whatever became of it. @param through what starts the program, to pin it for example. */
export const shoot = async (
  { port, request, rate, connections, duration }: Attack,
  workers = 8 * connections,
  through: ReadonlyArray<string> = []
): Promise<ReadonlyArray<Shot>> => {
  const files = await mkdtemp(join(tmpdir(), "headgate-vegeta-"))
  try {
    const { method, path, headers = {}, body = "" } = request
    await writeFile(join(files, "body"), body)
    const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\n`)
    const target = `${method} http://127.0.0.1:${port}${path}\n${lines.join("")}${body === "" ? "" : `@${join(files, "body")}\n`}`
    const results = join(files, "results")
    const limits = ["-connections", String(connections), "-max-workers", String(workers)]
    const timing = ["-rate", String(rate), "-duration", `${duration}ms`, "-output", results]
    await run(["attack", ...limits, ...timing], target, through)
    const table = await run(["encode", "-to", "csv", results], "", through)
    // Time in nanoseconds, status, latency in nanoseconds, …
    return table
      .split("\n")
      .filter((line) => line !== "")
      .map((line) => {
        const [sent = "", status, latency] = line.split(",", 3)
        return { sent: Number(sent) / 1e6, status: Number(status), latency: Number(latency) / 1e6 }
      })
  } finally {
    await rm(files, { recursive: true, force: true })
  }
}

const run = (args: ReadonlyArray<string>, input: string, through: ReadonlyArray<string>): Promise<string> =>
  new Promise((resolve, reject) => {
    const [command, ...before] = [...through, program]
    const child = spawn(command!, [...before, ...args], { stdio: ["pipe", "pipe", "inherit"] })
    let output = ""
    child.stdout.setEncoding("utf8").on("data", (text: string) => {
      output += text
    })
    child.once("error", reject)
    child.once("close", (code) => (code === 0 ? resolve(output) : reject(new Error(`vegeta ended with ${code}`))))
    child.stdin.end(input)
  })
