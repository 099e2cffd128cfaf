/**
 * `npm run release`: makes the files of a release, in `artifacts/`: the package as npm has it, what it is made of, on Linux the
 * single executables in archives, and a file with the checksums of them all. Two runs of one commit make the same, wherever
 * they run, but for the compiled code in an executable. With `--for OWNER/NAME` they are to be published from that repository:
 * then nothing is made unless the package says that it comes from there.
 */
import { execFileSync } from "node:child_process"
import { createHash } from "node:crypto"
import { cpSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { join, resolve } from "node:path"
import { parseArgs } from "node:util"
import { repositoryProblem } from "./repository.ts"
import { billName } from "./sbom.ts"

const root = resolve(import.meta.dirname, "..")
const dist = join(root, "dist")
const artifacts = join(root, "artifacts")
const { name, version, repository } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"))

const { values } = parseArgs({ options: { for: { type: "string" } } })
const problem = values.for === undefined ? undefined : repositoryProblem(repository, values.for)
if (problem !== undefined) {
  console.error(problem)
  process.exit(1)
}

rmSync(artifacts, { recursive: true, force: true })
mkdirSync(artifacts)
execFileSync(process.execPath, [join(import.meta.dirname, "main.ts")], { stdio: "inherit" })
execFileSync("npm", ["pack", dist, "--silent", "--pack-destination", artifacts], { stdio: "inherit" })
cpSync(join(dist, billName), join(artifacts, `${name}-${version}.cdx.json`))
if (process.platform === "linux") {
  execFileSync(process.execPath, [join(import.meta.dirname, "binary.ts")], { stdio: "inherit" })
  const folders = readdirSync(artifacts, { withFileTypes: true }).filter((entry) => entry.isDirectory())
  for (const { name: folder } of folders) {
    const same = ["--sort=name", "--mtime=@0", "--owner=0", "--group=0", "--numeric-owner"]
    execFileSync("tar", [...same, "-I", "gzip -n", "-cf", `${folder}.tar.gz`, folder], { cwd: artifacts })
    rmSync(join(artifacts, folder), { recursive: true })
  }
}

// As `sha256sum --check` reads it.
const sums = readdirSync(artifacts)
  .sort()
  .map(
    (file) =>
      `${createHash("sha256")
        .update(readFileSync(join(artifacts, file)))
        .digest("hex")}  ${file}\n`
  )
writeFileSync(join(artifacts, "SHA256SUMS"), sums.join(""))
