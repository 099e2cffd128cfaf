/**
 * `npm run build:binary`: makes a single executable of both programs and their threads for each platform that it is told (all
 * that there are, when none), each in a folder of its own in `artifacts/`, with what has to go with it. It is the pinned
 * runtime with our scripts in it, as the runtime itself makes it. With `--no-code-cache` two builds are the same.
 */
import { execFileSync } from "node:child_process"
import { createHash } from "node:crypto"
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join, resolve } from "node:path"
import { parseArgs } from "node:util"
import { runtimeFlags } from "../bin/launch.mjs"
import { bundleExecutable } from "./bundles.ts"
import { threads } from "./entries.ts"
import { packagesOf, writeNotices } from "./notices.ts"
import { billName, billOf, componentOf, writeBill } from "./sbom.ts"

const root = resolve(import.meta.dirname, "..")
const own = JSON.parse(readFileSync(join(root, "package.json"), "utf8"))
const runtimes: Readonly<Record<string, string>> = own.optionalDependencies
const platforms = Object.keys(runtimes).map((name) => name.replace("node-", ""))

const given = parseArgs({
  options: { "no-code-cache": { type: "boolean", default: false } },
  allowPositionals: true
})

const fail = (message: string): never => {
  console.error(message)
  process.exit(1)
}

/** The runtime of a platform: the one that is installed, or, of another machine, the same version from the registry. */
const runtimeOf = (platform: string, folder: string): string => {
  const name = `node-${platform}`
  const installed = join(root, "node_modules", name)
  if (existsSync(installed)) return installed
  const printed = execFileSync("npm", ["pack", `${name}@${runtimes[name]}`, "--json", "--pack-destination", folder])
  const packed = join(folder, JSON.parse(String(printed))[0].filename)
  const lock = JSON.parse(readFileSync(join(root, "package-lock.json"), "utf8"))
  const { integrity } = lock.packages[`node_modules/${name}`]
  const digest = `sha512-${createHash("sha512").update(readFileSync(packed)).digest("base64")}`
  if (digest !== integrity) fail(`${name} ${runtimes[name]} is not what the lockfile says`)
  execFileSync("tar", ["-xzf", packed, "-C", folder])
  return join(folder, "package")
}

/** The runtime, and what it has inside. */
const platformComponent = () => {
  const { node, ...versions } = process.versions
  // Numbers of interfaces are no software.
  const inside = Object.entries(versions).filter(([name]) => name !== "modules" && name !== "napi")
  return {
    ...componentOf("platform", "generic", { name: "node", version: node, license: "MIT" }),
    components: inside.map(([name, version]) => componentOf("library", "generic", { name, version: version! }))
  }
}

const build = async (platform: string) => {
  const folder = join(root, "artifacts", `${own.name}-${own.version}-${platform}`)
  const temporary = mkdtempSync(join(tmpdir(), "headgate-binary-"))
  try {
    const runtime = runtimeOf(platform, temporary)
    const packages = packagesOf(root, await bundleExecutable(root, temporary))
    rmSync(folder, { recursive: true, force: true })
    mkdirSync(folder, { recursive: true })
    const config = join(temporary, "config.json")
    writeFileSync(
      config,
      JSON.stringify({
        // The executable keeps this name, so it names no folder.
        main: "main.cjs",
        mainFormat: "commonjs",
        executable: join(runtime, "bin", "node"),
        output: join(folder, "headgate"),
        disableExperimentalSEAWarning: true,
        // Compiled code is that of the machine which compiles.
        useCodeCache: !given.values["no-code-cache"] && platform === `${process.platform}-${process.arch}`,
        execArgv: runtimeFlags,
        assets: Object.fromEntries(threads.map((name) => [name, join(temporary, `${name}.cjs`)]))
      })
    )
    execFileSync(process.execPath, ["--build-sea", config], {
      cwd: temporary,
      stdio: ["ignore", "ignore", "inherit"]
    })
    symlinkSync("headgate", join(folder, "headgatectl"))
    writeNotices(packages, folder)
    cpSync(join(runtime, "LICENSE"), join(folder, "LICENSE-node"))
    for (const own of ["man", "completions"])
      cpSync(join(root, "spec", "generated", own), join(folder, own), { recursive: true })
    cpSync(join(root, "LICENSE"), join(folder, "LICENSE"))
    const libraries = packages.map((each) => componentOf("library", "npm", each))
    const whole = componentOf("application", "generic", own)
    writeBill(billOf(whole, [...libraries, platformComponent()]), join(folder, billName))
    console.log(folder)
  } finally {
    rmSync(temporary, { recursive: true, force: true })
  }
}

if (process.platform !== "linux")
  fail("single executables are made on Linux, for Linux: run npx headgate, or the container image")
const pinned = Object.values(runtimes)[0]!
if (process.versions.node !== pinned)
  fail(`single executables are made by Node ${pinned}: run npm ci, then npm run build:binary`)
const asked = given.positionals
const unknown = asked.filter((platform) => !platforms.includes(platform))
if (unknown.length > 0) fail(`there is no executable for ${unknown.join(", ")}, but for ${platforms.join(", ")}`)
for (const platform of asked.length === 0 ? platforms : asked) await build(platform)
