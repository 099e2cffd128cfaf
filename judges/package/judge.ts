/**
 * The package as a stranger has it: packed, installed in an empty project, on the oldest Node that is supported and on one that is
 * too old, in real terminals, by a user who may write nowhere.
 */
import { spawnSync } from "node:child_process"
import {
  chmodSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync
} from "node:fs"
import { tmpdir } from "node:os"
import { join, resolve } from "node:path"
import { freePort } from "../../test/free-ports.ts"
import { install } from "../debian.ts"
import { project, runtime, versions } from "./runtimes.ts"
import { accepts, clear, inTerminal, isAlive, type Placed, until, withoutTerminal } from "./terminal.ts"

const root = resolve(import.meta.dirname, "..", "..")
const home = mkdtempSync(join(tmpdir(), "headgate-package-"))
// Whoever may write nowhere must be able to read.
chmodSync(home, 0o755)

let passed = 0
const failures: Array<string> = []
const holds = (what: string, held: boolean, detail = "") => {
  if (held) passed++
  else failures.push(detail === "" ? what : `${what}: ${detail}`)
}

const run = (command: string, args: ReadonlyArray<string>, cwd = home, env: NodeJS.ProcessEnv = process.env) => {
  const { status, stdout, stderr } = spawnSync(command, args, { cwd, encoding: "utf8", env, timeout: 600_000 })
  return { status, stdout, stderr, said: `${stdout}${stderr}`.trim() }
}

const must = (command: string, args: ReadonlyArray<string>) => {
  const { status, said } = run(command, args)
  if (status !== 0) throw new Error(said)
}

install("bsdutils", "util-linux", "coreutils")
must(process.execPath, [join(root, "build", "main.ts")])
must("npm", ["pack", join(root, "dist"), "--pack-destination", home])
const tarball = join(home, readdirSync(home).find((name) => name.endsWith(".tgz"))!)
const { dependencies, devDependencies } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"))
const version = (name: string) => `${name}@${dependencies[name] ?? devDependencies[name]}`

const bare = project(join(home, "bare"), tarball)
const whole = project(join(home, "whole"), tarball, ...["effect", "@types/node", "typescript"].map(version))
const node = runtime(home, versions.supported)
const oldNode = runtime(home, versions.old)
const own = join(bare, "node_modules", "headgate")
const launcher = (name: string) => join(own, "bin", `${name}.mjs`)

const configured = async (name: string) => {
  const port = await freePort()
  const file = join(home, `${name}.yaml`)
  const text = (body: string) => `config: { adminAddr: off, statsAddr: off, readinessAddr: off }
gateways: { default: { port: ${port} } }
routes: [{ policies: { directResponse: { status: 200, body: ${body} } } }]
`
  writeFileSync(file, text("first"))
  return { port, file, text }
}
const body = async (port: number) => (await fetch(`http://127.0.0.1:${port}/`)).text()
const logOf = ({ log }: Placed) => (existsSync(log) ? readFileSync(log, "utf8") : "")

/** Runs it to its end, whatever becomes of it. */
const during = async (placed: Placed, port: number, body: () => Promise<void>) => {
  try {
    const served = await until(() => accepts(port))
    holds(`${placed.log} serves`, served, logOf(placed))
    if (served) await body()
  } finally {
    await clear(placed)
  }
}

const ended = async (what: string, placed: Placed) => {
  const gone = await until(() => !isAlive(placed.pid()))
  holds(`${what}: the proxy ends`, gone)
  holds(`${what}: it drained before`, /\tshutting down$/m.test(logOf(placed)), logOf(placed))
}

// What was installed.
const files = readdirSync(own, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile())
const paths = files.map(({ parentPath, name }) => join(parentPath, name).slice(own.length + 1))
const stray = paths.filter((path) => /\.test\.|\.(pem|key)$|node_modules|(?<!\.d)\.ts$/.test(path))
holds("nothing of the repository is in it", stray.length === 0, stray.join(", "))
holds("at most 300 files", files.length <= 300, String(files.length))
const megabytes = Number(run("du", ["-sm", own]).stdout.split("\t")[0])
holds("at most 25 MB", megabytes <= 25, `${megabytes} MB`)
for (const path of ["THIRD-PARTY-NOTICES.txt", "LICENSE", "README.md", "CHANGELOG.md"])
  holds(`${path} is in it`, paths.includes(path))
for (const program of ["headgate", "headgatectl"])
  holds(`${program} has a source map`, paths.includes(join("programs", `${program}.mjs.map`)))
holds(
  "nothing is installed beside it",
  readdirSync(join(bare, "node_modules")).filter((name) => !name.startsWith(".")).length === 1
)

// On the oldest runtime that is supported.
const { file } = await configured("small")
const env = { PATH: process.env["PATH"], HOME: join(home, "nobody") }
const told = run(node, [launcher("headgatectl"), "version"], bare, env)
holds("headgatectl version", told.status === 0 && /^\d+\.\d+\.\d+$/.test(told.said), told.said)
const built = run(node, [launcher("headgate"), "--version"], bare, env)
holds("headgate --version", built.stdout.includes(versions.supported), built.said)
const valid = run(node, [launcher("headgatectl"), "validate", file], bare, env)
holds("headgatectl validate", valid.status === 0 && valid.said === "Configuration is valid!", valid.said)
for (const name of ["headgate", "headgate/trace", "headgate/testing", "headgate/policy"]) {
  const script = `console.log(Object.keys(await import("${name}")).length > 0)`
  const { said } = run(node, ["--input-type=module", "-e", script], whole)
  holds(`import of ${name}`, said === "true", said)
}
for (const name of ["config.schema.json", "trace-event.schema.json", "package.json"]) {
  const script = `console.log(typeof (await import("headgate/${name}", { with: { type: "json" } })).default)`
  const { said } = run(node, ["--input-type=module", "-e", script], whole)
  holds(`import of headgate/${name}`, said === "object", said)
}
const strict = join(whole, "strict")
mkdirSync(strict)
writeFileSync(
  join(strict, "main.ts"),
  `import { makeHeadgate, open } from "headgate"
import { policies } from "headgate/policy"
import { policyLaws } from "headgate/testing"
import { watching } from "headgate/trace"
export const headgate = makeHeadgate({ registry: policies })
export const events = async () => watching(await open("routes: []"))
export { policyLaws }
`
)
writeFileSync(join(strict, "tsconfig.json"), '{ "compilerOptions": { "strict": true, "module": "nodenext" } }')
const compiler = join(whole, "node_modules", "typescript", "bin", "tsc")
const compiled = run(node, [compiler, "--noEmit", "-p", "."], strict)
holds("a strict nodenext project compiles", compiled.status === 0 && compiled.said === "", compiled.said)

// On one that is too old.
for (const program of ["headgate", "headgatectl"]) {
  const { status, stdout, stderr } = run(oldNode, [launcher(program), "--version"], bare, env)
  holds(
    `${program} tells an old runtime so, in one line`,
    status === 1 && stdout === "" && /^.* needs Node 24 or newer, and this is Node 20\..*\n$/.test(stderr),
    stderr
  )
}

// Where nothing can be written.
{
  const { port, file } = await configured("read-only")
  const folder = join(home, "read-only")
  cpSync(own, folder, { recursive: true })
  const nobody = process.getuid?.() === 0 ? ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"] : []
  if (nobody.length === 0) run("chmod", ["-R", "a-w", folder])
  for (const [name, vars] of [
    ["a home that is not theirs", ["HOME=/root"]],
    ["a home that is not there", ["HOME=/nonexistent"]],
    ["a home that can hold nothing", ["HOME=/proc"]],
    ["no home", []]
  ] as const) {
    const start = [node, join(folder, "bin/headgate.mjs"), "-f", file]
    const command = [...nobody, "env", "-i", `PATH=${process.env["PATH"]}`, ...vars, ...start]
    const placed = withoutTerminal(command, join(home, `${name}.log`))
    await during(placed, port, async () => {
      holds(`${name}: serves`, (await body(port)) === "first")
      process.kill(placed.pid(), "SIGTERM")
      await ended(name, placed)
      const complaints = logOf(placed)
        .split("\n")
        .filter((each) => each !== "" && !each.includes("\tinfo\t"))
      holds(`${name}: says nothing of it`, complaints.length === 0, complaints.join("\n"))
    })
  }
}

// Terminals.
{
  const { port, file } = await configured("terminal")
  const placed = inTerminal([node, launcher("headgate"), "-f", file], join(home, "terminal.log"))
  await during(placed, port, async () => {
    placed.outer.kill("SIGKILL")
    await ended("the terminal is gone", placed)
  })
}
{
  const { port, file, text } = await configured("nohup")
  const placed = inTerminal(["nohup", node, launcher("headgate"), "-f", file], join(home, "nohup.log"))
  await during(placed, port, async () => {
    placed.outer.kill("SIGKILL")
    await until(() => placed.outer.signalCode !== null)
    process.kill(placed.pid(), "SIGHUP")
    // Whatever the signals did, they did it before this change was noticed.
    writeFileSync(file, text("second"))
    holds("under nohup it goes on", await until(async () => (await body(port)) === "second"), logOf(placed))
    holds("under nohup it neither ends nor reads anew", !/SIGHUP|shutting down/.test(logOf(placed)), logOf(placed))
    process.kill(placed.pid(), "SIGTERM")
    await ended("under nohup, told to end", placed)
  })
}
{
  const { port, file } = await configured("reload")
  const placed = withoutTerminal([node, launcher("headgate"), "-f", file], join(home, "reload.log"))
  await during(placed, port, async () => {
    process.kill(placed.pid(), "SIGHUP")
    const read = await until(() => /SIGHUP: reading the configuration anew/.test(logOf(placed)))
    holds("SIGHUP reads the configuration anew", read, logOf(placed))
    holds("and it serves on", (await body(port)) === "first")
    process.kill(placed.pid(), "SIGTERM")
    await ended("without a terminal, told to end", placed)
  })
}

// An old runtime hands over to one that stands beside the program, and may be killed before it.
{
  const { port, file } = await configured("handed-over")
  const folder = join(home, "handed-over")
  cpSync(own, folder, { recursive: true })
  mkdirSync(join(folder, "node_modules", ".bin"), { recursive: true })
  symlinkSync(node, join(folder, "node_modules", ".bin", "node"))
  const placed = withoutTerminal([oldNode, join(folder, "bin/headgate.mjs"), "-f", file], join(home, "handed-over.log"))
  await during(placed, port, async () => {
    const children = readFileSync(`/proc/${placed.pid()}/task/${placed.pid()}/children`, "utf8").trim().split(" ")
    holds("one process is handed over to", children.length === 1, children.join(" "))
    process.kill(placed.pid(), "SIGKILL")
    const child = Number(children[0])
    await ended("its launcher is killed", { ...placed, pid: () => child })
    holds("its port is free again", !(await accepts(port)))
  })
}

rmSync(home, { recursive: true, force: true })
for (const failure of failures) console.error(`FAILED ${failure}`)
console.log(`${passed} passed, ${failures.length} failed`)
process.exit(failures.length === 0 ? 0 : 1)
