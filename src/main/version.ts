/** What was built: the numbers that `--version` and the configuration dump print. */
import { readFileSync } from "node:fs"

const manifest: unknown = JSON.parse(readFileSync(new URL("../../package.json", import.meta.url), "utf8"))
const ofManifest =
  typeof manifest === "object" && manifest !== null && "version" in manifest ? String(manifest.version) : "unknown"

/** Field names as operators' tools know them; `node_version` stands where others name their language. */
export const version = {
  version: ofManifest,
  git_revision: process.env["HEADGATE_GIT_REVISION"] ?? "unknown",
  node_version: process.versions.node,
  build_profile: import.meta.url.endsWith(".ts") ? "source" : "release",
  build_target: `${process.arch}-${process.platform}`
} as const
