/** A folder that the test files of one run share, whatever process runs them: for what is made once, such as the package. */
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import type { TestProject } from "vitest/node"

declare module "vitest" {
  interface ProvidedContext {
    readonly runFolder: string
  }
}

export default ({ provide }: TestProject) => {
  const folder = mkdtempSync(join(tmpdir(), "headgate-run-"))
  provide("runFolder", folder)
  return () => rmSync(folder, { recursive: true, force: true, maxRetries: 3 })
}
