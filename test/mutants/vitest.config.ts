/** How tests run over a mutated copy of the tree: the given files, one after another in the given order. */
import { readFileSync } from "node:fs"
import { join } from "node:path"
import { defineConfig } from "vitest/config"
import { BaseSequencer, type TestSpecification } from "vitest/node"

/** What a run of tests is told. */
export interface Settings {
  /** In this order. */
  readonly files: ReadonlyArray<string>
  /** Whether each file has a process to itself. */
  readonly isolate: boolean
  /** What one test may take, in milliseconds. */
  readonly millis: number
}

const state = process.env["MUTANTS_STATE"]!
const { files, isolate, millis }: Settings = JSON.parse(readFileSync(join(state, "run.json"), "utf8"))
const root = join(import.meta.dirname, "..", "..")

class InOrder extends BaseSequencer {
  override async sort(specifications: Array<TestSpecification>): Promise<Array<TestSpecification>> {
    const place = new Map(files.map((file, index) => [join(root, file), index]))
    return specifications.toSorted((one, other) => place.get(one.moduleId)! - place.get(other.moduleId)!)
  }
}

export default defineConfig({
  root,
  test: {
    include: [...files],
    exclude: ["**/node_modules/**"],
    setupFiles: ["test/mutants/setup.ts"],
    sequence: { sequencer: InOrder },
    fileParallelism: false,
    isolate,
    testTimeout: millis,
    hookTimeout: millis,
    fsModuleCache: true,
    fsModuleCachePath: join(state, "modules")
  }
})
