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

/** Latencies in milliseconds from when a request was due, sorted. */
export const attack = async ({
  port,
  request,
  rate,
  connections,
  duration
}: Attack): Promise<ReadonlyArray<number>> => {
  const files = await mkdtemp(join(tmpdir(), "headgate-vegeta-"))
  try {
    const { method, path, headers = {}, body = "" } = request
    await writeFile(join(files, "body"), body)
    const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\n`)
    const target = `${method} http://127.0.0.1:${port}${path}\n${lines.join("")}${body === "" ? "" : `@${join(files, "body")}\n`}`
    const results = join(files, "results")
    const limits = ["-connections", String(connections), "-max-workers", String(8 * connections)]
    const timing = ["-rate", String(rate), "-duration", `${duration}ms`, "-output", results]
    await run(["attack", ...limits, ...timing], target)
    const table = await run(["encode", "-to", "csv", results], "")
    // Time, status, latency in nanoseconds, …
    const rows = table.split("\n").filter((line) => line !== "")
    const failed = rows.filter((line) => !line.split(",")[1]?.startsWith("2")).length
    if (failed > 0) throw new Error(`${failed} of ${rows.length} requests of vegeta failed`)
    return rows.map((line) => Number(line.split(",")[2]) / 1e6).sort((a, b) => a - b)
  } finally {
    await rm(files, { recursive: true, force: true })
  }
}

const run = (args: ReadonlyArray<string>, input: string): Promise<string> =>
  new Promise((resolve, reject) => {
    const child = spawn(program, [...args], { stdio: ["pipe", "pipe", "inherit"] })
    let output = ""
    child.stdout.setEncoding("utf8").on("data", (text: string) => {
      output += text
    })
    child.once("error", reject)
    child.once("close", (code) => (code === 0 ? resolve(output) : reject(new Error(`vegeta ended with ${code}`))))
    child.stdin.end(input)
  })
