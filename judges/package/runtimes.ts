/** Runtimes from the package registry, the oldest that is supported and one that is too old, each in a folder of its own. */
import { execFileSync } from "node:child_process"
import { mkdirSync, writeFileSync } from "node:fs"
import { join } from "node:path"

export const versions = { supported: "24.21.0", old: "20.20.2" } as const

/** An empty project with these packages, installed from a registry or a file. */
export const project = (folder: string, ...packages: ReadonlyArray<string>): string => {
  mkdirSync(folder, { recursive: true })
  writeFileSync(join(folder, "package.json"), '{ "private": true, "type": "module" }')
  execFileSync("npm", ["install", "--no-audit", "--no-fund", "--silent", ...packages], {
    cwd: folder,
    stdio: "inherit"
  })
  return folder
}

/** The path of a runtime. */
export const runtime = (folder: string, version: string): string => {
  const name = `node-linux-${process.arch}`
  return join(project(join(folder, version), `${name}@${version}`), "node_modules", name, "bin", "node")
}
