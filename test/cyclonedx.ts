/** What the official schema of CycloneDX 1.6 has against a document. */
import { readFileSync } from "node:fs"
import { join } from "node:path"
import { Ajv } from "ajv"

const folder = join(import.meta.dirname, "..", "node_modules", "@cyclonedx", "cyclonedx-library", "res", "schema")
const schema = (name: string) => JSON.parse(readFileSync(join(folder, `${name}.SNAPSHOT.schema.json`), "utf8"))

export const billProblems = (bill: unknown): ReadonlyArray<string> => {
  const ajv = new Ajv({ strict: false, validateFormats: false, allErrors: true })
  // By the names that the schema has for them.
  for (const name of ["spdx", "jsf-0.82", "cryptography-defs"])
    ajv.addSchema({ ...schema(name), $id: `http://cyclonedx.org/schema/${name}.SNAPSHOT.schema.json` })
  const valid = ajv.compile(schema("bom-1.6"))
  return valid(bill) ? [] : (valid.errors ?? []).map(({ instancePath, message }) => `${instancePath} ${message}`)
}
