/**
 * A copy of the tree with mutants in it, and the tests that run over it; and one as it is, for the compiler of types. The tree
 * itself is never touched.
 */
import { spawn } from "node:child_process"
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { dirname, join, relative, sep } from "node:path"
import { instrumented } from "./instrument.ts"
import type { Mutant } from "./mutations.ts"
import { root } from "./sample.ts"
import type { Settings } from "./vitest.config.ts"

/** How a run of tests ended. */
export interface Ended {
  readonly kind: "passed" | "failed" | "out of time"
  /** What failed, as the tests say it. */
  readonly failures: ReadonlyArray<{ readonly file: string; readonly test: string; readonly message: string }>
  /** How long the slowest test took, in milliseconds. */
  readonly slowest: number
}

export interface Run extends Settings {
  /** Which mutant is awake; -1: none is, and it is recorded which are reached. */
  readonly awake: number
  /** Whether the first failure ends it. */
  readonly bail: boolean
  /** What all tests may take together, in milliseconds. */
  readonly limit: number
}

/** What vitest's JSON report says, as far as it is read. */
interface Report {
  readonly testResults: ReadonlyArray<{
    readonly name: string
    readonly status: string
    readonly message: string
    readonly assertionResults: ReadonlyArray<{
      readonly status: string
      readonly fullName: string
      readonly duration?: number | null
      readonly failureMessages?: ReadonlyArray<string>
    }>
  }>
}

/** What is not the project's own text. */
const left = new Set(["node_modules", ".git", "dist", "coverage"])

const copyTree = (to: string): void => {
  cpSync(root, to, {
    recursive: true,
    verbatimSymlinks: true,
    filter: (source) =>
      !relative(root, source)
        .split(sep)
        .some((part) => left.has(part))
  })
  symlinkSync(join(root, "node_modules"), join(to, "node_modules"))
}

export class Tree implements Disposable {
  readonly #folder = mkdtempSync(join(tmpdir(), "headgate-mutants-"))
  readonly #tree = join(this.#folder, "tree")
  readonly #plain = join(this.#folder, "plain")
  readonly #state = join(this.#folder, "state")
  readonly #leave = () => this[Symbol.dispose]()
  #group: number | undefined

  constructor(mutants: ReadonlyMap<number, Mutant>) {
    process.on("exit", this.#leave)
    mkdirSync(this.#state)
    copyTree(this.#tree)
    copyTree(this.#plain)
    for (const [file, ids] of Map.groupBy(mutants.keys(), (id) => mutants.get(id)!.file)) {
      const asked = relative(dirname(file), "test/mutants/switch.mjs").replaceAll(sep, "/")
      const own = new Map(ids.map((id) => [id, mutants.get(id)!]))
      const text = instrumented(
        file,
        readFileSync(join(root, file), "utf8"),
        own,
        asked.startsWith(".") ? asked : `./${asked}`
      )
      writeFileSync(join(this.#tree, file), text)
    }
  }

  /** Runs test files, one after another. */
  async run({ awake, bail, limit, ...settings }: Run): Promise<Ended> {
    const report = join(this.#state, "report.json")
    rmSync(report, { force: true })
    writeFileSync(join(this.#state, "awake"), String(awake))
    writeFileSync(join(this.#state, "run.json"), JSON.stringify(settings))
    const { code, output } = await this.#spawn(
      this.#tree,
      [
        join("node_modules", "vitest", "vitest.mjs"),
        "run",
        "--config=test/mutants/vitest.config.ts",
        "--reporter=json",
        `--outputFile.json=${report}`,
        ...(bail ? ["--bail=1"] : [])
      ],
      limit
    )
    if (code === undefined) return { kind: "out of time", failures: [], slowest: 0 }
    if (!existsSync(report))
      return { kind: "failed", failures: [{ file: "", test: "", message: output.slice(-2000) }], slowest: 0 }
    const { testResults } = JSON.parse(readFileSync(report, "utf8")) as Report
    const failures = testResults.flatMap(({ name, status, message, assertionResults }) => {
      const file = relative(this.#tree, name)
      const failed = assertionResults.filter((each) => each.status === "failed")
      if (failed.length === 0 && status === "failed") return [{ file, test: "", message }]
      return failed.map(({ fullName, failureMessages = [] }) => ({
        file,
        test: fullName,
        message: failureMessages.join("\n")
      }))
    })
    const slowest = Math.max(
      0,
      ...testResults.flatMap((file) => file.assertionResults.map((each) => each.duration ?? 0))
    )
    if (code === 0) return { kind: "passed", failures, slowest }
    // An error that nobody caught fails no test, but the run.
    return {
      kind: "failed",
      failures: failures.length > 0 ? failures : [{ file: "", test: "", message: output.slice(-2000) }],
      slowest
    }
  }

  /** Whether the compiler of types refuses the tree with one mutant in it; without one, as it is. */
  async refusedByTypes(mutant?: Mutant): Promise<boolean> {
    const tsc = [join("node_modules", "typescript", "bin", "tsc"), "-p", "."]
    const refused = async () => (await this.#spawn(this.#plain, tsc, 300_000)).code !== 0
    if (mutant === undefined) return refused()
    const file = join(this.#plain, mutant.file)
    const source = readFileSync(file, "utf8")
    writeFileSync(file, source.slice(0, mutant.start) + mutant.becomes + source.slice(mutant.end))
    try {
      return await refused()
    } finally {
      writeFileSync(file, source)
    }
  }

  /** The test files that reached each mutant since it was recorded, and how long each file took, in milliseconds. */
  recorded(): {
    readonly reached: ReadonlyMap<number, ReadonlySet<string>>
    readonly durations: ReadonlyMap<string, number>
  } {
    const lines = (name: string) => {
      const file = join(this.#state, name)
      return existsSync(file) ? readFileSync(file, "utf8").split("\n").filter(Boolean) : []
    }
    const reached = new Map<number, Set<string>>()
    for (const line of lines("reached")) {
      const [id = "", file = ""] = line.split(" ")
      const files = reached.get(Number(id)) ?? new Set()
      reached.set(Number(id), files.add(file))
    }
    const started = lines("started").map((line) => {
      const [time = "", file = ""] = line.split(" ")
      return [Number(time), file] as const
    })
    const durations = new Map(
      started.map(([time, file], index) => [file, (started[index + 1]?.[0] ?? Date.now()) - time] as const)
    )
    return { reached, durations }
  }

  /** Runs a script of Node to its end; without a code when it took too long. It ends with all that it started. */
  #spawn(
    cwd: string,
    args: ReadonlyArray<string>,
    millis: number
  ): Promise<{ readonly code?: number; readonly output: string }> {
    const child = spawn(process.execPath, args, {
      cwd,
      env: { ...process.env, MUTANTS_STATE: this.#state, NODE_COMPILE_CACHE: join(this.#state, "compiled") },
      stdio: ["ignore", "pipe", "pipe"],
      detached: true
    })
    this.#group = child.pid
    let output = ""
    for (const stream of [child.stdout, child.stderr])
      stream.setEncoding("utf8").on("data", (text: string) => {
        output = (output + text).slice(-100_000)
      })
    let late = false
    const timer = setTimeout(() => {
      late = true
      this.#end()
    }, millis)
    return new Promise((resolve, reject) => {
      child.once("error", reject)
      child.once("exit", (code) => {
        clearTimeout(timer)
        // What a mutant left behind would hold its ports and the machine.
        this.#end()
        resolve(late ? { output } : { code: code ?? 1, output })
      })
    })
  }

  #end(): void {
    if (this.#group === undefined) return
    try {
      process.kill(-this.#group, "SIGKILL")
    } catch {
      // All of them are gone already.
    }
    this.#group = undefined
  }

  [Symbol.dispose](): void {
    process.off("exit", this.#leave)
    this.#end()
    rmSync(this.#folder, { recursive: true, force: true })
  }
}
