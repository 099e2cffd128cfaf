/** Programs that write lines to their standard output, and end in every way that a program may. */
import { spawn, spawnSync } from "node:child_process"
import { once } from "node:events"
import {
  closeSync,
  existsSync,
  mkdtempSync,
  openSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync
} from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterAll, assert, describe, it } from "@effect/vitest"
import { until } from "../../test/program.ts"

const home = mkdtempSync(join(tmpdir(), "headgate-log-"))
afterAll(() => rmSync(home, { recursive: true, force: true }))

/** Lines of the program are `log(text)`; on standard error it says what the test is to know. */
const program = (body: string) => {
  const file = join(home, `${Math.random()}.ts`)
  writeFileSync(
    file,
    `import { writeSync, promises } from "node:fs"
import { setTimeout as sleep } from "node:timers/promises"
import { Output } from ${JSON.stringify(join(import.meta.dirname, "output.ts"))}
const output = new Output()
const log = (text) => output.record(text + "\\n")
const say = (text) => writeSync(2, text + "\\n")
process.once("exit", () => output.flush(5000))
${body}`
  )
  return file
}

const run = (body: string, stdout: number | "pipe") => {
  const child = spawn(process.execPath, [program(body)], { stdio: ["pipe", stdout, "pipe"] })
  let said = ""
  child.stderr!.setEncoding("utf8").on("data", (text: string) => {
    said += text
  })
  let printed = ""
  child.stdout?.setEncoding("utf8").on("data", (text: string) => {
    printed += text
  })
  const ended = once(child, "close").then(([code, signal]) => code ?? signal)
  return { child, ended, said: () => said, printed: () => printed }
}

/** Runs it to its end, with a file or a pipe for its lines. */
const outcome = async (body: string, into: "file" | "pipe") => {
  const file = join(home, `${Math.random()}.log`)
  const stdout = into === "file" ? openSync(file, "a") : "pipe"
  const { ended, said, printed } = run(body, stdout)
  const code = await ended
  if (typeof stdout === "number") closeSync(stdout)
  return { code, said: said(), printed: into === "file" ? readFileSync(file, "utf8") : printed() }
}

const numbered = (count: number): string => Array.from({ length: count }, (_, i) => `line ${i}\n`).join("")

for (const into of ["file", "pipe"] as const)
  describe(`lines into a ${into}`, () => {
    it("arrive whole, in order and once when the program ends at once", async () => {
      const { code, printed } = await outcome(
        'for (let i = 0; i < 200_000; i++) log("line " + i)\nprocess.exit(3)',
        into
      )
      assert.strictEqual(code, 3)
      assert.isTrue(printed === numbered(200_000))
    })

    it("arrive when what nobody catches ends the program", async () => {
      const { code, printed } = await outcome(
        'for (let i = 0; i < 1000; i++) log("line " + i)\nawait sleep(20)\nfor (let i = 1000; i < 2000; i++) log("line " + i)\nthrow new Error("uncaught")',
        into
      )
      assert.deepStrictEqual([code, printed], [1, numbered(2000)])
    })

    it("arrive while every thread of libuv is busy for three seconds", async () => {
      // Opening a pipe for reading waits until somebody writes, without using the processor.
      const pipes = Array.from({ length: 4 }, () => join(home, `${Math.random()}.fifo`))
      assert.strictEqual(spawnSync("mkfifo", pipes).status, 0)
      const file = join(home, `${Math.random()}.log`)
      const stdout = into === "file" ? openSync(file, "a") : "pipe"
      const { ended, said, printed } = run(
        `for (const pipe of ${JSON.stringify(pipes)}) promises.open(pipe).then((opened) => opened.close())
let free = false
promises.stat("/").then(() => { free = true })
await sleep(20)
for (let i = 0; i < 30; i++) { log("line " + i); await sleep(100) }
say(free ? "the threads were free" : "the threads were busy")
await sleep(300)
say("end")
process.exit()`,
        stdout
      )
      const have = () => (into === "file" ? readFileSync(file, "utf8") : printed())
      await until("the last line arrives before the program ends", () => have() === numbered(30))
      assert.notInclude(said(), "end")
      await until("it said whether the threads were busy", () => said().includes("the threads were"))
      assert.include(said(), "the threads were busy")
      for (const pipe of pipes) closeSync(openSync(pipe, "w"))
      assert.strictEqual(await ended, 0)
      if (typeof stdout === "number") closeSync(stdout)
    })

    it("are lost for the last 20 ms at most when the program is killed, and none of the others is torn", async () => {
      const losses: Array<number> = []
      for (let round = 0; round < 5; round++) {
        // No more than a reader takes: what it leaves lying is lost with the program, whenever it was written.
        const { code, said, printed } = await outcome(
          `log("begin"); await output.drained(5000)
let last = 0
for (const end = performance.now() + 200; performance.now() < end; await sleep(1))
  for (let i = 0; i < 10; i++) { last = performance.now(); log(last + " " + "x".repeat(200)) }
say(String(last))
process.kill(process.pid, "SIGKILL")
await sleep(1000)`,
          into
        )
        assert.strictEqual(code, "SIGKILL")
        const lines = printed.split("\n").slice(1)
        const torn = lines.pop()!
        assert.isAbove(lines.length, 100)
        for (const line of lines) assert.match(line, /^[\d.]+ x{200}$/)
        assert.match(torn, /^[\d.]* ?x{0,200}$/)
        losses.push(Number(said) - Number.parseFloat(lines.at(-1)!))
      }
      // Whoever else uses the machine may hold back one of the processes, but not most of them.
      const median = losses.toSorted((a, b) => a - b)[2]!
      assert.isAtMost(median, 20, losses.join(" "))
    })
  })

describe("lines that cannot be written", () => {
  it("because a file may not grow leave no torn line, and are counted", async () => {
    const file = join(home, "bounded.log")
    const stdout = openSync(file, "a")
    const body = program(`for (let i = 0; i < 100; i++) log("line " + i + " " + "x".repeat(100))
for (let told = false; !told; await sleep(5)) if (output.lost.failed > 0) { say("lost " + output.lost.failed); told = true }
process.stdin.once("data", async () => {
  log("after")
  await output.drained(5000)
  process.exit()
})`)
    // 4,096 bytes: the last line that fits does not fit whole.
    const child = spawn("sh", ["-c", 'ulimit -f 8; exec "$0" "$1"', process.execPath, body], {
      stdio: ["pipe", stdout, "pipe"]
    })
    let said = ""
    child.stderr!.setEncoding("utf8").on("data", (text: string) => {
      said += text
    })
    const ended = once(child, "exit")
    await until("lines are lost", () => said.includes("lost"))
    const whole = Array.from({ length: 100 }, (_, i) => `line ${i} ${"x".repeat(100)}\n`)
    const before = readFileSync(file, "utf8")
    assert.strictEqual(statSync(file).size, 4096)
    assert.strictEqual(before, whole.join("").slice(0, 4096))
    const begun = before.split("\n").length
    assert.strictEqual(said, `lost ${100 - begun}\n`)
    truncateSync(file)
    child.stdin!.write("room\n")
    assert.deepStrictEqual(await ended, [0, null])
    assert.strictEqual(before + readFileSync(file, "utf8"), `${whole.slice(0, begun).join("")}after\n`)
    closeSync(stdout)
  })

  it("because the disk is full are counted, and keep the program from nothing", async () => {
    // The device that is always full; systems without it have a closed descriptor instead.
    const full = existsSync("/dev/full") ? openSync("/dev/full", "w") : openSync("/dev/null", "r")
    const { ended, said } = run(
      'for (let i = 0; i < 100; i++) log("line " + i)\nawait output.drained(5000)\nsay(JSON.stringify(output.lost)); process.exit()',
      full
    )
    assert.strictEqual(await ended, 0)
    assert.deepStrictEqual(JSON.parse(said()), { full: 0, failed: 100 })
    closeSync(full)
  })

  it("because a reader is slow come later, in pieces that the pipe has room for", async () => {
    const { child, ended, printed } = run(
      'for (let i = 0; i < 100_000; i++) log("line " + i)\nsay("made"); await output.drained(20_000); process.exit()',
      "pipe"
    )
    child.stdout!.pause()
    await new Promise((resolve) => child.stderr!.once("data", resolve))
    for (let i = 0; i < 20; i++) {
      child.stdout!.resume()
      await new Promise((resolve) => setTimeout(resolve, 1))
      child.stdout!.pause()
      await new Promise((resolve) => setTimeout(resolve, 10))
    }
    child.stdout!.resume()
    assert.strictEqual(await ended, 0)
    assert.isTrue(printed() === numbered(100_000))
  })

  it("by a thread, because the runtime gives none, are written all the same", async () => {
    const file = join(home, "no-thread.log")
    const stdout = openSync(file, "a")
    const child = spawn(
      process.execPath,
      ["--permission", "--allow-fs-read=*", program('for (let i = 0; i < 3; i++) log("line " + i)\nprocess.exit()')],
      { stdio: ["ignore", stdout, "pipe"] }
    )
    assert.deepStrictEqual(await once(child, "close"), [0, null])
    assert.strictEqual(readFileSync(file, "utf8"), numbered(3))
    closeSync(stdout)
  })

  it("because too many wait are counted, as are those that a reader did not take who went away", async () => {
    const { child, ended, said } = run(
      `const text = "x".repeat(999)
for (let i = 0; i < 10_000; i++) log(text)
say(JSON.stringify(output.lost))
process.stdin.once("data", async () => {
  await output.drained(5000)
  say(JSON.stringify(output.lost))
  process.exit()
})`,
      "pipe"
    )
    child.stdout!.pause()
    await until("they are made", () => said().includes("\n"))
    const { full, failed } = JSON.parse(said())
    // What fits are 8 MiB, and what the pipe itself holds.
    assert.isAtLeast(10_000 - full, 8_388)
    assert.isAtMost(10_000 - full, 8_388 + 1_000)
    assert.strictEqual(failed, 0)
    child.stdout!.destroy()
    child.stdin!.write("gone\n")
    assert.strictEqual(await ended, 0)
    const after = JSON.parse(said().split("\n")[1]!)
    assert.strictEqual(after.full, full)
    assert.isAtLeast(after.failed, 7_000)
    assert.isAtMost(after.failed + full, 10_000)
  })
})
