/** Writes what is generated from the schemas and the policies into `spec/generated/` and `docs/`. Run by `npm run generate`; a test compares. */
import { mkdirSync, readdirSync, rmSync, writeFileSync } from "node:fs"
import { dirname, join, resolve } from "node:path"
import { variables } from "../../spec/environment.ts"
import { environmentPage } from "../../spec/generate/environment.ts"
import { referencePages } from "../../spec/generate/reference.ts"
import { schemas } from "../../stages/schemas.ts"
import { language } from "../check/check.ts"
import { isIdle } from "../check/idle-settings.ts"
import { endpointsPage } from "./admin/endpoints.ts"
import { jsonSchema } from "./configuration/json-schemas.ts"
import { type SchemaKind, schemaFile, schemaKinds } from "./configuration/schema-kinds.ts"
import { exitCodesPage } from "./exit-codes.ts"
import { commandsPage } from "./pages/commands.ts"
import { completions } from "./pages/completions.ts"
import { failClosedPage } from "./pages/fail-closed.ts"
import { manualPages } from "./pages/manual.ts"
import { metricsPage } from "./pages/metrics.ts"
import { phasesPage } from "./pages/phases.ts"
import { standing } from "./pages/standing.ts"
import { warningsPage } from "./pages/warnings.ts"

/** Every generated file by its path below `spec/generated`. */
export const generated = (): Readonly<Record<string, string>> => {
  const pages = Object.entries(referencePages(language.schema, schemas, standing)).map(([name, text]) => [
    `reference/${name}`,
    text
  ])
  const kinds = Object.keys(schemaKinds) as ReadonlyArray<SchemaKind>
  return {
    ...Object.fromEntries(kinds.map((kind) => [schemaFile(kind), jsonSchema(kind)])),
    ...Object.fromEntries(pages),
    ...Object.fromEntries(Object.entries(manualPages()).map(([name, text]) => [`man/${name}`, text])),
    ...Object.fromEntries(Object.entries(completions()).map(([name, text]) => [`completions/${name}`, text])),
    "reference/environment.md": environmentPage(variables, isIdle),
    "reference/commands.md": commandsPage(),
    "reference/endpoints.md": endpointsPage(),
    "reference/exit-codes.md": exitCodesPage(),
    "reference/metrics.md": metricsPage(),
    "reference/phases.md": phasesPage(),
    "reference/warnings.md": warningsPage()
  }
}

/** Pages that are generated beside those that are written, by their path below `docs`. */
export const generatedDocs = (): Readonly<Record<string, string>> => ({ "fail-closed.md": failClosedPage() })

if (import.meta.main) {
  const folder = resolve(import.meta.dirname, "../../spec/generated")
  const files = generated()
  for (const stale of readdirSync(folder, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile()))
    rmSync(join(stale.parentPath, stale.name))
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, name)), { recursive: true })
    writeFileSync(join(folder, name), text)
  }
  const docs = generatedDocs()
  for (const [name, text] of Object.entries(docs)) writeFileSync(resolve(import.meta.dirname, "../../docs", name), text)
  console.log(`wrote ${Object.keys(files).length} files to spec/generated, ${Object.keys(docs).length} to docs`)
}
