/** Writes another text over a file. */
import { chmodSync, chownSync, mkdtempSync, realpathSync, renameSync, rmSync, statSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { Effect } from "effect"
import { Unable } from "./failure.ts"

/** The old text stays until the new one is on the disk; behind a link it is the file that changes. */
const replace = (file: string, text: string): void => {
  const target = realpathSync(file)
  const { mode, uid, gid } = statSync(target)
  const folder = mkdtempSync(`${target}.`)
  try {
    const draft = join(folder, "draft")
    writeFileSync(draft, text, { flush: true })
    chownSync(draft, uid, gid)
    chmodSync(draft, mode)
    renameSync(draft, target)
  } finally {
    rmSync(folder, { recursive: true })
  }
}

export const replaceFile = (file: string, text: string): Effect.Effect<void, Unable> =>
  Effect.try({
    try: () => replace(file, text),
    catch: (cause) => new Unable({ detail: `cannot write ${file}: ${String(cause)}` })
  })
