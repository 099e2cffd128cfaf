/**
 * Measures how long the package takes to start, as a user has it: built, packed, installed in a folder of its own. Start to
 * listening with and without the cache of compiled code, the version of the tool, checking a small file, and the same of
 * the single executable, where one can be made; beside them the bare runtime, since the machine is in all of them.
 * Alternating; medians.
 *
 * `node bench/start.ts [--rounds 15] [--check]`; with `--check` a broken budget is a failure.
 */
import { spawn, spawnSync } from "node:child_process"
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { connect } from "node:net"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { parseArgs } from "node:util"
import { spread } from "./spread.ts"

const { values: given } = parseArgs({
  options: { rounds: { type: "string", default: "15" }, check: { type: "boolean", default: false } }
})
const node = process.execPath
const root = join(import.meta.dirname, "..")
const home = mkdtempSync(join(tmpdir(), "headgate-start-"))
const cache = join(home, "cache")
const port = 19_731
const file = join(home, "config.yaml")
writeFileSync(
  file,
  `
config: { adminAddr: off, statsAddr: off, readinessAddr: off }
gateways: { default: { port: ${port} } }
routes: [{ policies: { directResponse: { status: 200, body: hello } } }]
`
)

const must = (command: string, args: ReadonlyArray<string>) => {
  const { status, stderr } = spawnSync(command, args, { cwd: home, encoding: "utf8" })
  if (status !== 0) throw new Error(stderr)
}
writeFileSync(join(home, "package.json"), '{ "private": true }')
must(process.execPath, [join(root, "build/main.ts")])
must("npm", ["pack", join(root, "dist"), "--pack-destination", home])
must("npm", [
  "install",
  "--no-audit",
  "--no-fund",
  join(home, readdirSync(home).find((name) => name.endsWith(".tgz"))!)
])
const { name, version } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"))
const platform = `${process.platform}-${process.arch}`
const executable = join(root, "artifacts", `${name}-${version}-${platform}`, "headgate")
if (process.platform === "linux") must(process.execPath, [join(root, "build/binary.ts"), platform])
const launcher = (program: string) => join(home, "node_modules/headgate/bin", `${program}.mjs`)
const env = { PATH: process.env["PATH"], HOME: home, XDG_CACHE_HOME: cache }

const accepts = () =>
  new Promise<boolean>((resolve) => {
    const socket = connect(port, "127.0.0.1", () => {
      socket.destroy()
      resolve(true)
    })
    socket.on("error", () => resolve(false))
  })

/** Milliseconds until somebody may connect. */
const listening = async (...command: readonly [string, ...ReadonlyArray<string>]): Promise<number> => {
  const start = performance.now()
  const child = spawn(command[0], [...command.slice(1), "-f", file], { env, stdio: ["ignore", "pipe", "ignore"] })
  const ended = new Promise((resolve) => child.on("exit", resolve))
  // Its compiled code is written after that, and one that is killed before leaves nothing for the next start.
  const settled = new Promise<void>((resolve) => {
    let said = ""
    child.stdout.on("data", (text) => {
      said += text
      if (said.includes("Watching config file")) resolve()
    })
  })
  while (!(await accepts())) await new Promise((resolve) => setTimeout(resolve, 2))
  const millis = performance.now() - start
  await settled
  child.kill()
  await ended
  return millis
}

const whole = async (command: string, ...args: ReadonlyArray<string>): Promise<number> => {
  const start = performance.now()
  spawnSync(command, args, { env, cwd: home })
  return performance.now() - start
}

const rows: ReadonlyArray<readonly [name: string, budget: number | undefined, measure: () => Promise<number>]> = [
  ["node -e 0", undefined, () => whole(node, "-e", "0")],
  [
    "start to listening, the first time",
    500,
    () => {
      rmSync(cache, { recursive: true, force: true })
      return listening(node, launcher("headgate"))
    }
  ],
  ["start to listening, afterwards", 250, () => listening(node, launcher("headgate"))],
  ["headgatectl version", 100, () => whole(node, launcher("headgatectl"), "version")],
  ["headgatectl validate, a small file", 300, () => whole(node, launcher("headgatectl"), "validate", file)],
  ...(process.platform === "linux"
    ? ([
        ["executable, start to listening", 250, () => listening(executable)],
        ["executable, version of the tool", 100, () => whole(executable, "ctl", "version")],
        ["executable, validate a small file", 300, () => whole(executable, "ctl", "validate", file)]
      ] as const)
    : [])
]

const times = rows.map((): Array<number> => [])
for (let round = 0; round <= Number(given.rounds); round++)
  for (const [i, [, , measure]] of rows.entries()) {
    const millis = await measure()
    // The first round is for the caches.
    if (round > 0) times[i]!.push(millis)
  }
rmSync(home, { recursive: true, force: true })

let broken = false
for (const [i, [name, budget]] of rows.entries()) {
  const { median, low, high } = spread(times[i]!)
  const over = budget !== undefined && median > budget
  broken ||= over
  const bound = budget === undefined ? "" : `  (at most ${budget})${over ? "  TOO SLOW" : ""}`
  console.log(`${name.padEnd(40)} ${median.toFixed(0)} ms  ${low.toFixed(0)}–${high.toFixed(0)}${bound}`)
}
if (broken && given.check) process.exit(1)
