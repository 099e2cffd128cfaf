// The whole test run: lint, format, types, generated files, suites. Ends with the sums of what really ran, and fails
// when a test was skipped.
import { spawnSync } from "node:child_process"
import { mkdtempSync, readFileSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"

if (Number(process.versions.node.split(".")[0]) < 24) {
  console.error(`The tests need the pinned Node, and this is ${process.versions.node}: run npm ci, then npm test.`)
  process.exit(1)
}

const only = process.argv.slice(2)
let passed = 0
let failed = 0
let skipped = 0

/** Runs a check that is one test by itself. */
const check = (name, command, args) => {
  const { status } = spawnSync(command, args, { stdio: "inherit" })
  if (status === 0) passed++
  else failed++
  console.log(`${status === 0 ? "ok" : "FAILED"}: ${name}`)
}

const bin = (name) => join("node_modules", ".bin", name)

if (only.length === 0) {
  check("lint and format", bin("biome"), ["check", "--error-on-warnings", "."])
  check("types", bin("tsc"), ["-p", "."])
}

const folder = mkdtempSync(join(tmpdir(), "headgate-test-"))
const report = join(folder, "report.json")
const { status } = spawnSync(
  process.execPath,
  [
    join("node_modules", "vitest", "vitest.mjs"),
    "run",
    "--reporter=default",
    "--reporter=json",
    `--outputFile.json=${report}`,
    ...only
  ],
  { stdio: "inherit" }
)
try {
  const results = JSON.parse(readFileSync(report, "utf8"))
  passed += results.numPassedTests
  failed += results.numFailedTests
  skipped += results.numPendingTests + results.numTodoTests
  // A file that cannot be loaded fails as a suite and counts no test.
  if (results.numFailedTests === 0 && (status !== 0 || !results.success)) failed++
} catch (error) {
  console.error(`no report of the tests: ${error.message}`)
  failed++
}
rmSync(folder, { recursive: true, force: true })

if (skipped > 0) {
  console.error(`${skipped} tests were skipped: a test that does not run proves nothing`)
  failed += skipped
}
console.log(`${passed} passed, ${failed} failed`)
process.exit(failed === 0 ? 0 : 1)
