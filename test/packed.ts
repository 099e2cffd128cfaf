/** The package as it is published: built and packed by the first test file of a run that asks for it, for all of them. */
import { execFile } from "node:child_process"
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { promisify } from "node:util"
import { inject } from "vitest"
import { root, until } from "./program.ts"

const run = promisify(execFile)

/** The most that a build may take on a busy machine. */
export const patience = 300_000

const make = async (folder: string): Promise<void> => {
  await run(process.execPath, [join(root, "build/main.ts")], { cwd: root })
  await run("npm", ["pack", join(root, "dist"), "--pack-destination", folder], { cwd: folder })
  const tarball = readdirSync(folder).find((name) => name.endsWith(".tgz"))!
  renameSync(join(folder, tarball), join(folder, "headgate.tgz"))
}

/** The path of the tarball. */
export const packed = async (): Promise<string> => {
  const folder = join(inject("runFolder"), "packed")
  const failed = join(folder, "failed")
  const tarball = join(folder, "headgate.tgz")
  if (mkdirSync(folder, { recursive: true }) === undefined)
    await until("the package is built", () => existsSync(tarball) || existsSync(failed), patience)
  else await make(folder).catch((error) => writeFileSync(failed, String(error.stderr ?? error)))
  if (existsSync(failed)) throw new Error(readFileSync(failed, "utf8"))
  return tarball
}
