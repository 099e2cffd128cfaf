/** The log in a real terminal, which Debian's `script` makes: while somebody holds the screen, the program goes on. */
import { spawn } from "node:child_process"
import { once } from "node:events"
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join, resolve } from "node:path"
import { install } from "../debian.ts"
import { until } from "../package/terminal.ts"

install("bsdutils")

const home = mkdtempSync(join(tmpdir(), "headgate-terminal-"))
const beats = join(home, "beats")
const program = join(home, "program.ts")
const output = resolve(import.meta.dirname, "..", "..", "layers", "log", "output.ts")
writeFileSync(
  program,
  `import { writeSync } from "node:fs"
import { Output } from ${JSON.stringify(output)}
const output = new Output()
setInterval(() => {
  for (let i = 0; i < 100; i++) output.record("x".repeat(200) + "\\n")
  writeSync(2, "beat\\n")
}, 5)
`
)

let passed = 0
const failures: Array<string> = []
const holds = (what: string, held: boolean) => {
  if (held) passed++
  else failures.push(what)
}

const beatCount = () => readFileSync(beats, "utf8").split("\n").length
const held = "\u0013"

/** @param flags of the runtime. What it may not open stands for a terminal that belongs to somebody else. */
const heldTerminal = async (whose: string, flags: ReadonlyArray<string>) => {
  writeFileSync(beats, "")
  const command = `exec ${[process.execPath, ...flags, program].join(" ")} 2>${beats}`
  const child = spawn("script", ["-qec", command, "/dev/null"], { stdio: ["pipe", "pipe", "ignore"] })
  const ended = once(child, "close")
  let seen = ""
  child.stdout!.setEncoding("utf8").on("data", (text: string) => {
    seen = text
  })
  try {
    holds(`${whose}: lines arrive`, await until(() => seen !== ""))
    child.stdin!.write(held)
    const before = beatCount()
    holds(`${whose}: it goes on while it is held`, await until(() => beatCount() > before + 200))
  } finally {
    child.kill("SIGKILL")
    await ended
  }
}

try {
  await heldTerminal("a terminal of one's own", [])
  await heldTerminal("a terminal of somebody else", ["--permission", "--allow-fs-read=*", "--allow-worker"])
} finally {
  rmSync(home, { recursive: true })
}
for (const failure of failures) console.error(failure)
console.log(`${passed} passed, ${failures.length} failed`)
process.exit(failures.length === 0 ? 0 : 1)
