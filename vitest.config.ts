import { availableParallelism } from "node:os"
import { join } from "node:path"
import { defineConfig } from "vitest/config"
import { BaseSequencer, type TestSpecification } from "vitest/node"

/** What measures time or memory, or has time limits of its own: it has a process, and the machine, to itself. */
export const alone = ["test/{attack,faults,http}/*.test.ts", "src/cel/hostile.test.ts", "layers/log/output.test.ts"]

/** What takes longest, most of it waiting for other processes. It begins first, so that nothing is left to wait for at the end. */
const longest = [
  "test/process.test.ts",
  "test/outside/mcp/conformance.test.ts",
  "test/outside/package/package.test.ts",
  "test/guides/guides.test.ts"
].map((file) => join(import.meta.dirname, file))

class LongestFirst extends BaseSequencer {
  override async sort(files: Array<TestSpecification>): Promise<Array<TestSpecification>> {
    const sorted = await super.sort(files)
    const first = sorted.filter(({ moduleId }) => longest.includes(moduleId))
    return [...first, ...sorted.filter((file) => !first.includes(file))]
  }
}

export default defineConfig({
  test: {
    testTimeout: 120_000,
    hookTimeout: 120_000,
    // A focused test would hide the others from CI.
    allowOnly: false,
    globalSetup: "test/run-folder.ts",
    sequence: { sequencer: LongestFirst },
    projects: [
      {
        extends: true,
        test: {
          name: "together",
          include: ["{bench,layers,spec,src,stages,test}/**/*.test.ts"],
          exclude: ["**/node_modules/**", ...alone],
          // Loading the modules anew for every file costs as much as all of the tests: a worker keeps them.
          isolate: false,
          // Many tests wait for other processes: two cores have enough to do for two.
          maxWorkers: Math.max(2, availableParallelism() - 1)
        }
      },
      {
        extends: true,
        test: { name: "alone", include: alone, maxWorkers: 1, sequence: { groupOrder: 1 } }
      }
    ]
  }
})
