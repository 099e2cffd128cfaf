/**
 * `npm run build`: makes the package as it is published, in `dist/`. The programs hold all that they need; the library
 * exports leave `effect` to the program that embeds them, since values of theirs are values of its Effect.
 */
import { cpSync, mkdirSync, rmSync, writeFileSync } from "node:fs"
import { join, resolve } from "node:path"
import { bundleLibrary, bundlePrograms } from "./bundles.ts"
import { writeDeclarations } from "./declarations.ts"
import { manifest } from "./manifest.ts"
import { packagesOf, writeNotices } from "./notices.ts"
import { writePackageBill } from "./sbom.ts"

const root = resolve(import.meta.dirname, "..")
const dist = join(root, "dist")

rmSync(dist, { recursive: true, force: true })
mkdirSync(dist)
const modules = [...(await bundlePrograms(root, dist)), ...(await bundleLibrary(root, dist))]
await writeDeclarations(root, dist)
const packages = packagesOf(root, modules)
writeNotices(packages, dist)
writePackageBill(root, packages, dist)
// With the pages that the README leads to, where it leads to them.
const pages = [
  ...["README.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md", "LICENSE", "packaging", "examples/quickstart"],
  ...["docs/compatibility.md", "docs/fail-closed.md", "docs/guides", "spec/generated/reference"]
]
for (const file of ["bin", ...pages]) cpSync(join(root, file), join(dist, file), { recursive: true })
for (const schema of ["config.schema.json", "trace-event.schema.json"])
  cpSync(join(root, "spec", "generated", schema), join(dist, schema))
for (const folder of ["man", "completions"])
  cpSync(join(root, "spec", "generated", folder), join(dist, folder), { recursive: true })
writeFileSync(join(dist, "package.json"), `${JSON.stringify(manifest(root), null, 2)}\n`)
