/** What was built: the numbers that `--version` and the configuration dump print. */
import { readFileSync } from "node:fs"

/** Set where the sources are bundled. */
declare const HEADGATE_BUILT: { readonly version: string; readonly git_revision: string } | undefined

const fileOf = (path: string): string => readFileSync(new URL(`../../${path}`, import.meta.url), "utf8")

/** What the checkout has at hand: a branch by its file, if it is not packed. */
const revision = (): string => {
  try {
    const head = fileOf(".git/HEAD").trim()
    return head.startsWith("ref: ") ? fileOf(`.git/${head.slice(5)}`).trim() : head
  } catch {
    return "unknown"
  }
}

const isBuilt = typeof HEADGATE_BUILT !== "undefined"
const found = isBuilt
  ? HEADGATE_BUILT
  : {
      version: String(JSON.parse(fileOf("package.json")).version),
      git_revision: process.env["HEADGATE_GIT_REVISION"] ?? revision()
    }

/** Field names as operators' tools know them; `node_version` stands where others name their language. */
export const version = {
  ...found,
  node_version: process.versions.node,
  build_profile: isBuilt ? "release" : "source",
  build_target: `${process.arch}-${process.platform}`
} as const
