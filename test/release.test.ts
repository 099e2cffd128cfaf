/** What is published says truly where it comes from, or is not made. */
import { spawnSync } from "node:child_process"
import { existsSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterAll, assert, describe, it } from "@effect/vitest"
import { parse } from "yaml"
import { repositoryProblem } from "../build/repository.ts"
import { root } from "./program.ts"

const own = JSON.parse(readFileSync(join(root, "package.json"), "utf8"))

describe("a release", () => {
  const folder = mkdtempSync(join(tmpdir(), "headgate-release-"))
  afterAll(() => rmSync(folder, { recursive: true, force: true }))

  it("is made for the repository that the package names", () => {
    const url = "git+https://github.com/somebody/headgate.git"
    assert.isUndefined(repositoryProblem({ type: "git", url }, "somebody/headgate"))
    assert.isUndefined(repositoryProblem(url, "somebody/headgate"))
  })

  it.each([
    [undefined, /^package\.json names no repository; .*"url": "git\+https:\/\/github\.com\/somebody\/headgate\.git"/],
    [{ url: "git+https://github.com/another/headgate.git" }, /says that its repository is ".*another\/headgate\.git"/],
    [{ url: "https://github.com/somebody/headgate" }, /says that its repository is/]
  ])("is refused for another: %j", (repository, said) => {
    assert.match(repositoryProblem(repository, "somebody/headgate")!, said)
  })

  it("makes nothing when it is refused", () => {
    // A copy of its own, whatever the repository is called one day.
    writeFileSync(join(folder, "package.json"), JSON.stringify({ ...own, repository: undefined }))
    for (const name of ["build", "node_modules"]) symlinkSync(join(root, name), join(folder, name))
    const script = join(folder, "build", "release.ts")
    const { status, stderr } = spawnSync(
      process.execPath,
      ["--preserve-symlinks", "--preserve-symlinks-main", script, "--for", "somebody/headgate"],
      { cwd: folder, encoding: "utf8" }
    )
    assert.strictEqual(status, 1, stderr)
    assert.match(stderr, /^package\.json names no repository; to publish from somebody\/headgate, write /)
    assert.isFalse(existsSync(join(folder, "artifacts")))
  })

  it("is published only from the repository that runs the workflow", () => {
    const { jobs } = parse(readFileSync(join(root, "packaging/release.yaml"), "utf8"))
    const commands = (job: { readonly steps: ReadonlyArray<{ readonly run?: string }> }) =>
      job.steps.map(({ run }) => run)
    assert.include(commands(jobs.files), 'npm run release -- --for "$GITHUB_REPOSITORY"')
    assert.deepStrictEqual(jobs.npm.needs, "files")
    assert.isTrue(commands(jobs.npm).some((run) => run?.includes("npm publish") && run.includes("--provenance")))
  })
})
