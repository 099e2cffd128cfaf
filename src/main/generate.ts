/** Writes what is generated from the schemas into `spec/generated/`. Run by `npm run generate`; a test compares. */
import { mkdirSync, readdirSync, rmSync, writeFileSync } from "node:fs"
import { dirname, join, resolve } from "node:path"
import { editorSchema } from "../../spec/generate/json-schema.ts"
import { referencePages } from "../../spec/generate/reference.ts"
import { standalone } from "../../spec/standalone.ts"
import { schemas } from "../../stages/schemas.ts"

/** Where the schema of the file is known under; its first comment line may name it. */
export const schemaId = "https://headgate.dev/config.schema.json"

/** Every generated file by its path below `spec/generated`. */
export const generated = (): Readonly<Record<string, string>> => {
  const file = standalone(schemas)
  const pages = Object.entries(referencePages(file, schemas)).map(([name, text]) => [`reference/${name}`, text])
  return {
    "config.schema.json": `${JSON.stringify(editorSchema(file, schemaId), null, 2)}\n`,
    ...Object.fromEntries(pages)
  }
}

if (import.meta.main) {
  const folder = resolve(import.meta.dirname, "../../spec/generated")
  const files = generated()
  for (const stale of readdirSync(folder, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile()))
    rmSync(join(stale.parentPath, stale.name))
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, name)), { recursive: true })
    writeFileSync(join(folder, name), text)
  }
  console.log(`wrote ${Object.keys(files).length} files to spec/generated`)
}
