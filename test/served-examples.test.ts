/**
 * Every example that this build serves, as its readers run it: with the servers and variables that it `Needs`, from the folder
 * of the project and from its own, and with all that it suggests to try, whose answers are what it `Tells`.
 */
import { execFileSync, spawn } from "node:child_process"
import { once } from "node:events"
import { cpSync, globSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { afterAll, assert, describe, it } from "@effect/vitest"
import { suggestions } from "../src/check/suggestions.ts"
import { environmentOf } from "./fences.ts"
import { freePorts } from "./free-ports.ts"
import { accepts, type Program, root, startHeadgate, startProgram, until } from "./program.ts"

// In the repository: where `npx` finds what the project depends on.
const folder = mkdtempSync(join(root, ".examples-"))
afterAll(() => rmSync(folder, { recursive: true, force: true }))
cpSync(join(root, "examples/certificates.sh"), join(folder, "certificates.sh"))

const served = globSync("*/config.yaml", { cwd: join(root, "examples") })
  .filter((file) => !readFileSync(join(root, "examples", file), "utf8").includes("\n# Not available yet: "))
  .map((file) => file.split("/")[0]!)
  .toSorted()

const linesOf = (text: string, word: string): ReadonlyArray<string> =>
  [...text.matchAll(new RegExp(`^# ${word}: (.*)$`, "gm"))].map(([, line]) => line!)

/** The ports that an example and its commands speak of. */
const aPort = /(?<=localhost:|127\.0\.0\.1:|port: |--port |PORT=|"port":|\.mjs(?: \d+)* )\d{4,5}\b/g

/** A copy of it on ports of its own, so that several run side by side. */
const copied = async (name: string) => {
  const own = join(folder, name)
  cpSync(join(root, "examples", name), own, { recursive: true })
  for (const command of linesOf(readFileSync(join(own, "config.yaml"), "utf8"), "Files"))
    execFileSync("sh", ["-c", command], { cwd: own })
  const file = join(own, "config.yaml")
  const written = readFileSync(file, "utf8")
  const named = [...new Set(written.match(aPort))]
  const free = await freePorts(named.length)
  const text = written
    .replace(aPort, (port) => String(free[named.indexOf(port)]))
    .replaceAll(`examples/${name}/`, `${own}/`)
  writeFileSync(file, text)
  return { own, file, text }
}

const assignment = /^([A-Z_]+)=(\S+)$/

/** Runs one of its commands: the last status, and all that was answered. */
const tried = async (command: string, env: Readonly<Record<string, string>>) => {
  const child = spawn("sh", ["-c", `${command} --silent --show-error --write-out '\\n%{http_code}'`], {
    cwd: root,
    env: { ...process.env, ...env },
    stdio: ["ignore", "pipe", "pipe"]
  })
  let output = ""
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding("utf8").on("data", (text: string) => {
      output += text
    })
  await once(child, "close")
  return { output, status: output.slice(output.lastIndexOf("\n") + 1) }
}

const tryAll = async (text: string, env: Readonly<Record<string, string>>): Promise<void> => {
  const commands = suggestions(text)
  const answers = linesOf(text, "Tells")
  assert.isAtLeast(commands.length, 1)
  assert.strictEqual(answers.length, commands.length, "each Try has one Tells")
  for (const [index, command] of commands.entries()) {
    const [status, ...telling] = answers[index]!.split(" ")
    const found = await tried(command, env)
    assert.strictEqual(found.status, status, `${command}\n${found.output}`)
    assert.include(found.output, telling.join(" "), command)
  }
}

describe.concurrent("an example that this build serves", () => {
  it.each(served)("%s", async (name) => {
    const { own, file, text } = await copied(name)
    const needs = linesOf(text, "Needs")
    const given = needs.flatMap((need) => {
      const found = assignment.exec(need)
      return found === null ? [] : [[found[1]!, found[2]!] as const]
    })
    const env = { ...environmentOf(text), ...Object.fromEntries(given) }
    const running: Array<Program> = []
    try {
      for (const need of needs) {
        if (assignment.test(need)) continue
        running.push(startProgram("sh", ["-c", need], env))
        for (const [port] of need.matchAll(aPort)) await until(`${need} listens`, () => accepts(Number(port)))
      }
      const program = await startHeadgate(["-f", file], env)
      running.push(program)
      await tryAll(text, env)
      program.signal("SIGTERM")
      await program.ended
      const again = await startHeadgate(["-f", "config.yaml"], env, own)
      running.push(again)
      await again.says(/loaded config from config\.yaml/)
    } finally {
      for (const program of running) await program[Symbol.asyncDispose]()
    }
  })
})
