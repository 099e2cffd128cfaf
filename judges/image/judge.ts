/**
 * The forms in which the proxy comes, beside the package: single executables (that of the other machine under qemu), container
 * images on Debian's packages, a service, manual pages and completions, each tried with the programs that will have them.
 */
import { spawn, spawnSync } from "node:child_process"
import { createHash } from "node:crypto"
import {
  closeSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync
} from "node:fs"
import { tmpdir } from "node:os"
import { join, resolve } from "node:path"
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client"
import { billProblems } from "../../test/cyclonedx.ts"
import { freePort } from "../../test/free-ports.ts"
import { install } from "../debian.ts"
import { until } from "../package/terminal.ts"
import { readContainerfile } from "./containerfile.ts"
import { type Place, run, start } from "./sandbox.ts"

const root = resolve(import.meta.dirname, "..", "..")
const packaging = join(root, "packaging")
const artifacts = join(root, "artifacts")
const home = mkdtempSync(join(tmpdir(), "headgate-image-"))
const { name, version } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"))

let passed = 0
const failures: Array<string> = []
const holds = (what: string, held: boolean, detail = "") => {
  if (held) passed++
  else failures.push(detail === "" ? what : `${what}: ${detail}`)
}

const said = (command: string, args: ReadonlyArray<string>, options: object = {}) => {
  const { status, stdout, stderr, error } = spawnSync(command, args, { encoding: "utf8", ...options })
  return { status, said: `${stdout}${stderr}${error?.message ?? ""}`.trim() }
}
const must = (command: string, args: ReadonlyArray<string>, options: object = {}) => {
  const { status, said: text } = said(command, args, options)
  if (status !== 0) throw new Error(`${command}: ${text}`)
}

const sum = (file: string) => createHash("sha256").update(readFileSync(file)).digest("hex")
const body = async (port: number) => {
  try {
    return await (await fetch(`http://127.0.0.1:${port}/`)).text()
  } catch {
    return undefined
  }
}

install(
  ...["bubblewrap", "qemu-user-static", "mmdebstrap", "jq", "python3-pip", "strace", "procps"],
  ...["systemd", "mandoc", "bash", "zsh", "fish"]
)

// Executables. Without compiled code, two builds in two folders are the same.
const folderOf = (platform: string, top = root) => join(top, "artifacts", `${name}-${version}-${platform}`)
{
  const other = join(home, "other")
  const listed = spawnSync("git", ["ls-files", "--cached", "--others", "--exclude-standard"], {
    cwd: root,
    encoding: "utf8"
  })
  for (const file of listed.stdout.trim().split("\n"))
    if (existsSync(join(root, file))) cpSync(join(root, file), join(other, file), { recursive: true })
  must("cp", ["-al", join(root, "node_modules"), join(other, "node_modules")])
  const { stdout } = spawnSync("git", ["rev-parse", "HEAD"], { cwd: root, encoding: "utf8" })
  const env = { ...process.env, HEADGATE_GIT_REVISION: stdout.trim() }
  const build = (cwd: string) => must(process.execPath, ["build/binary.ts", "--no-code-cache"], { cwd, env })
  build(root)
  build(other)
  for (const platform of ["linux-x64", "linux-arm64"])
    for (const file of readdirSync(folderOf(platform)).filter((each) =>
      statSync(join(folderOf(platform), each)).isFile()
    ))
      holds(
        `${platform}: ${file} is the same in another folder`,
        sum(join(folderOf(platform), file)) === sum(join(folderOf(platform, other), file))
      )
  rmSync(other, { recursive: true })
}
must(process.execPath, ["build/binary.ts", "linux-x64"], { cwd: root })

/** Root file systems, made by what the Containerfiles run. */
const made = (architecture: string, kind: "proxy" | "tools") => {
  const folder = join(home, `${kind}-${architecture}`)
  must(join(packaging, "rootfs.sh"), [architecture, artifacts, folder, ...(kind === "tools" ? [kind] : [])])
  return folder
}
const own = process.arch === "x64" ? "amd64" : "arm64"
const proxy = { root: made(own, "proxy"), image: readContainerfile(join(packaging, "Containerfile")) }
const tools = { root: made(own, "tools"), image: readContainerfile(join(packaging, "Containerfile.tools")) }

// The other machine's executable.
{
  const prefix = made("arm64", "proxy")
  const emulated = (...args: ReadonlyArray<string>) =>
    said("qemu-aarch64-static", ["-L", prefix, join(prefix, "usr/bin/headgate"), ...args])
  holds("arm64 tells its version", emulated("-V").said === version, emulated("-V").said)
  holds("arm64 is the tool as well", emulated("ctl", "version").said === version)
  const built = JSON.parse(emulated("--version").said)
  holds("arm64 is of that machine", built.build_target === "arm64-linux", built.build_target)
  const port = await freePort()
  const file = join(home, "arm64.yaml")
  // Long enough for the thread that reads it.
  const routes = Array.from({ length: 1000 }, (_, i) => `  - name: r${i}\n    matches: [{ path: { exact: /${i} } }]`)
  writeFileSync(
    file,
    `config: { adminAddr: off, statsAddr: off, readinessAddr: off }
gateways: { default: { port: ${port} } }
routes:
${routes.map((route) => `${route}\n    policies: { directResponse: { status: 204 } }`).join("\n")}
  - policies: { directResponse: { status: 200, body: emulated } }
`
  )
  const proxy = spawn("qemu-aarch64-static", ["-L", prefix, join(prefix, "usr/bin/headgate"), "-f", file], {
    stdio: "ignore"
  })
  const ended = new Promise((done) => proxy.once("exit", done))
  holds("arm64 serves", await patient(async () => (await body(port)) === "emulated"))
  proxy.kill("SIGTERM")
  holds("arm64 drains and ends", (await ended) === 0)
}

/** Emulation and first downloads take their time. */
async function patient(holds: () => Promise<boolean>): Promise<boolean> {
  for (let i = 0; i < 6; i++) if (await until(holds)) return true
  return false
}

const configured = (name: string, text: string) => {
  const folder = join(home, name)
  mkdirSync(folder)
  writeFileSync(join(folder, "config.yaml"), text)
  return folder
}

const whole = ({ image }: Place) => [...image.entrypoint, ...image.command]

// The image of the proxy alone.
{
  const port = await freePort()
  const readiness = await freePort()
  const config = configured(
    "plain",
    `config: { adminAddr: off, statsAddr: off, readinessAddr: "localhost:${readiness}" }
gateways: { default: { port: ${port} } }
routes: [{ policies: { directResponse: { status: 200, body: contained } } }]
`
  )
  holds("the image has no shell", !existsSync(join(proxy.root, "bin/sh")))
  const place: Place = { ...proxy, readable: { "/config": config } }
  const check = [...proxy.image.healthCheck, "--readiness-port", String(readiness)]
  const running = await start(place, whole(place))
  try {
    const serves = await until(async () => (await body(port)) === "contained")
    holds("the image serves", serves, running.printed())
    const of = (file: string) => readFileSync(`/proc/${running.first}/${file}`, "utf8")
    const inside = spawnSync(
      "nsenter",
      ["-t", String(running.first), "-U", "--preserve-credentials", "cat", `/proc/${running.first}/status`],
      { encoding: "utf8" }
    )
    holds("nobody there is root", /^Uid:\s+65532/m.test(inside.stdout), inside.stdout || inside.stderr)
    holds("its root cannot be written", /^\S+ \S+ \S+ \S+ \/ ro[, ]/m.test(of("mountinfo")), of("mountinfo"))
    holds("it has no right of root", /^CapEff:\s+0+$/m.test(of("status")) && /^CapBnd:\s+0+$/m.test(of("status")))
    holds("process 1 waits for orphans", /tini/.test(of("comm")), of("comm"))
    const healthy = run(place, check)
    holds("its health check is content", healthy.status === 0 && healthy.said === "ready", healthy.said)
    const code = await running.ended()
    holds("told to end, it drains", code === 0 && /\tshutting down$/m.test(running.printed()), running.printed())
    const gone = run(place, check)
    holds("its health check sees that it is gone", gone.status === 1, gone.said)
  } finally {
    running.child.kill("SIGKILL")
  }
}

for (const [kind, { root: folder }] of Object.entries({ proxy, tools })) {
  const bill = JSON.parse(readFileSync(join(folder, "usr/share/doc/headgate/sbom.cdx.json"), "utf8"))
  const problems = billProblems(bill)
  holds(`the SBOM of ${kind} is CycloneDX`, problems.length === 0, problems.join("\n"))
  const refs: ReadonlyArray<string> = bill.components.map(({ purl }: { readonly purl: string }) => purl)
  const packages = readdirSync(join(folder, "var/lib/dpkg/status.d"))
  const missing = packages.filter(
    (each) => !refs.some((ref) => ref.startsWith(`pkg:deb/debian/${encodeURIComponent(each)}@`))
  )
  holds(
    `the SBOM of ${kind} has every package of Debian`,
    packages.length > 5 && missing.length === 0,
    missing.join(", ")
  )
  holds(
    `the SBOM of ${kind} has the bundles`,
    refs.some((ref) => ref.startsWith("pkg:npm/effect@"))
  )
}

// The image with tools, and servers that it fetches. Whatever certificates this machine trusts, they have to.
const trusted = "/etc/ssl/certs/ca-certificates.crt"
const network = {
  readable: { "/etc/resolv.conf": "/etc/resolv.conf", "/etc/hosts": "/etc/hosts", [trusted]: trusted },
  env: {
    NODE_EXTRA_CA_CERTS: trusted,
    SSL_CERT_FILE: trusted,
    npm_config_registry: spawnSync("npm", ["config", "get", "registry"], { encoding: "utf8" }).stdout.trim()
  }
}
const mcp = async (port: number) => {
  const client = new Client({ name: "judge", version: "1" })
  await client.connect(new StreamableHTTPClientTransport(new URL(`http://127.0.0.1:${port}/mcp`)), { timeout: 300_000 })
  return client
}
const quiet = "config: { adminAddr: off, statsAddr: off, readinessAddr: off }"
const server = (name: string, command: ReadonlyArray<string>, env: Readonly<Record<string, string>> = {}) =>
  `{ name: ${name}, stdio: { cmd: ${command[0]}, args: ${JSON.stringify(command.slice(1))}, env: ${JSON.stringify(env)} } }`
const served = (port: number, ...targets: ReadonlyArray<string>) =>
  `${quiet}\nmcp:\n  port: ${port}\n  targets:\n${targets.map((each) => `    - ${each}\n`).join("")}`
{
  const port = await freePort()
  const cache = join(home, "cache")
  mkdirSync(cache)
  for (const [target, command, tool, args] of [
    ["npx", ["npx", "-y", "@modelcontextprotocol/server-everything@2026.8.31"], "echo", { message: "fetched" }],
    ["uvx", ["uvx", "mcp-server-time@2026.10.19"], "get_current_time", { timezone: "UTC" }]
  ] as const) {
    const place: Place = {
      ...tools,
      readable: {
        ...network.readable,
        "/config": configured(target, served(port, server(target, command, network.env)))
      },
      writable: { "/cache": cache }
    }
    const running = await start(place, whole(place))
    try {
      await until(async () => /loaded config from/.test(running.printed()))
      const client = await mcp(port)
      const { tools: list } = await client.listTools()
      holds(
        `${target}: lists its tools`,
        list.some(({ name }) => name === tool),
        list.map(({ name }) => name).join(", ")
      )
      const { content, isError } = await client.callTool({ name: tool, arguments: args })
      holds(
        `${target}: answers a call`,
        isError !== true && JSON.stringify(content).length > 10,
        JSON.stringify(content)
      )
      await client.close()
      holds(`${target}: ends in peace`, (await running.ended()) === 0, running.printed())
    } catch (error) {
      holds(`${target}: serves`, false, `${error}\n${running.printed()}`)
    } finally {
      running.child.kill("SIGKILL")
    }
  }
  holds("what was fetched is in the cache", existsSync(join(cache, ".npm")) && existsSync(join(cache, ".cache", "uv")))
}

// Orphans: a server whose thousand children each leave one behind, which ends later.
{
  const script = `
import json, os, sys, time
for _ in range(1000):
    child = os.fork()
    if child == 0:
        if os.fork() == 0:
            time.sleep(1)
        os._exit(0)
    os.waitpid(child, 0)
for line in sys.stdin:
    asked = json.loads(line)
    if "id" in asked:
        result = {"tools": []} if asked["method"] == "tools/list" else {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}, "serverInfo": {"name": "forks", "version": "1"}}
        print(json.dumps({"jsonrpc": "2.0", "id": asked["id"], "result": result}), flush=True)
`
  const orphaned = async (entrypoint: ReadonlyArray<string>, name: string) => {
    const port = await freePort()
    const config = configured(name, served(port, server("forks", ["python3", "/config/forks.py"])))
    writeFileSync(join(config, "forks.py"), script)
    const place: Place = { ...tools, readable: { "/config": config } }
    const running = await start(place, [...entrypoint, ...tools.image.command])
    try {
      await until(async () => /loaded config from/.test(running.printed()))
      const client = await mcp(port)
      await client.listTools()
      const zombies = () => running.processes().filter(({ state }) => state === "Z").length
      // The last of them ends a second after it began.
      await new Promise((later) => setTimeout(later, 3000))
      const left = zombies()
      const living = running.processes().length - left
      await client.close()
      return { left, living }
    } finally {
      running.child.kill("SIGKILL")
    }
  }
  const reaped = await orphaned(tools.image.entrypoint, "reaped")
  holds("a thousand orphans leave no zombie", reaped.left === 0 && reaped.living < 20, JSON.stringify(reaped))
  const alone = await orphaned(tools.image.entrypoint.slice(-1), "alone")
  holds("which is the work of process 1: the proxy by itself leaves them", alone.left >= 1000, JSON.stringify(alone))
}

// The service.
{
  const unit = readFileSync(join(packaging, "headgate.service"), "utf8")
  const executable = join(folderOf(`linux-${process.arch}`), "headgate")
  const placed = join(home, "headgate.service")
  writeFileSync(placed, unit.replaceAll("/usr/bin/headgate", executable))
  const verified = said("systemd-analyze", ["verify", "--man=no", placed])
  holds("systemd finds nothing wrong with the unit", verified.status === 0 && verified.said === "", verified.said)
  const secured = said("systemd-analyze", ["security", "--offline=true", "--threshold=20", placed])
  holds("and little exposed", secured.status === 0, secured.said.split("\n").at(-1))
  // What it asks of the kernel while it starts with a large file, serves, reads anew and ends, against what the unit lets it.
  const filter = (group: string): ReadonlyArray<string> =>
    said("systemd-analyze", ["syscall-filter", group])
      .said.split("\n")
      .slice(1)
      .map((line) => line.trim())
      .filter((line) => line !== "" && !line.startsWith("#"))
      .flatMap((each) => (each.startsWith("@") ? filter(each) : [each]))
  const lines = [...unit.matchAll(/^SystemCallFilter=(~?)(.*)$/gm)]
  const groups = (sign: string) => lines.filter(([, each]) => each === sign).flatMap(([, , list]) => list!.split(" "))
  const denied = new Set(groups("~").flatMap(filter))
  const allowed = new Set(
    groups("")
      .flatMap(filter)
      .filter((call) => !denied.has(call))
  )
  const port = await freePort()
  const log = join(home, "strace")
  const printed = join(home, "strace.log")
  const config = configured(
    "traced",
    `${quiet}\ngateways: { default: { port: ${port} } }\nroutes:\n${Array.from({ length: 2000 }, (_, i) => `  - name: r${i}\n    matches: [{ path: { exact: /${i} } }]\n    policies: { directResponse: { status: 204 } }\n`).join("")}  - policies: { directResponse: { status: 200, body: traced } }\n`
  )
  const output = openSync(printed, "a")
  const traced = spawn("strace", ["-f", "-qq", "-o", log, executable, "-f", join(config, "config.yaml")], {
    stdio: ["ignore", output, output]
  })
  closeSync(output)
  const ended = new Promise((done) => traced.once("exit", done))
  holds(
    "it serves while it is watched",
    await patient(async () => (await body(port)) === "traced"),
    readFileSync(printed, "utf8")
  )
  const pid = Number(readFileSync(log, "utf8").split(" ")[0])
  process.kill(pid, "SIGHUP")
  holds("it reads anew", await patient(async () => /SIGHUP: reading/.test(readFileSync(printed, "utf8"))))
  process.kill(pid, "SIGTERM")
  await ended
  const calls = new Set([...readFileSync(log, "utf8").matchAll(/^\d+\s+([a-z0-9_]+)\(/gm)].map(([, call]) => call!))
  const strange = [...calls].filter((call) => !allowed.has(call))
  holds("the unit lets it do what it does", calls.size > 30 && strange.length === 0, strange.join(", "))
}

// Manual pages and completions.
const generated = join(root, "spec", "generated")
for (const page of readdirSync(join(generated, "man"))) {
  const file = join(generated, "man", page)
  // A date would be another one in every build.
  const found = said("mandoc", ["-Tlint", file])
    .said.split("\n")
    .filter((line) => line !== "" && !line.includes("missing date"))
  holds(`${page} is well formed`, found.length === 0, found.join("\n"))
  const shown = said("mandoc", ["-Tutf8", file]).said.replaceAll(/.\x08/g, "")
  holds(`${page} shows its name`, shown.includes(`${page.slice(0, -2)} -`), shown.slice(0, 200))
}
{
  const folder = (shell: string) => join(generated, "completions", shell)
  /** What completes the last of these words. */
  const shells: Readonly<Record<string, (words: ReadonlyArray<string>) => string>> = {
    bash: (words) => {
      const line = words.join(" ")
      const array = words.map((word) => `'${word}'`).join(" ")
      const code = `. ${folder("bash")}/${words[0]}; COMP_WORDS=(${array}); COMP_CWORD=${words.length - 1}; COMP_LINE='${line}'; COMP_POINT=${line.length}; $(complete -p ${words[0]} | sed 's/.*-F \\([^ ]*\\).*/\\1/') ${words[0]}; printf '%s\\n' "\${COMPREPLY[@]}"`
      return said("bash", ["--norc", "-c", code]).said
    },
    fish: (words) =>
      said(
        "fish",
        ["--no-config", "-c", `source ${folder("fish")}/${words[0]}.fish; complete -C '${words.join(" ")}'`],
        { env: { ...process.env, HOME: home } }
      ).said,
    zsh: (words) => {
      const code = `zmodload zsh/zpty
zpty shell zsh -f -i
zpty -w shell "PS1=; fpath=(${folder("zsh")} \\$fpath); autoload -Uz compinit; compinit -u -D; setopt no_beep; zstyle ':completion:*' list-colors ''; echo re''ady"
zpty -r shell out '*ready*'
zpty -w -n shell $'${words.join(" ")}\\t\\t'
sleep 2
zpty -r -t shell out
while zpty -r -t shell more; do out+=$more; sleep 0.1; done
print -r -- $out`
      return said("zsh", ["-f", "-c", code], { env: { ...process.env, HOME: home, TERM: "dumb" }, timeout: 20_000 })
        .said
    }
  }
  for (const [shell, completed] of Object.entries(shells))
    for (const [words, wanted] of [
      [["headgate", "--val"], "validate-only"],
      [["headgate", "one"], "oneshot"],
      [["headgatectl", "vali"], "validate"],
      [["headgatectl", "proxy", "rea"], "ready"]
    ] as const) {
      const found = completed(words)
      holds(`${shell} completes ${words.join(" ")}`, found.includes(wanted), found)
    }
}

rmSync(home, { recursive: true, force: true })
for (const failure of failures) console.error(`FAILED ${failure}`)
console.log(`${passed} passed, ${failures.length} failed`)
process.exit(failures.length === 0 ? 0 : 1)
