/**
 * What the package is made of, for whoever has to know: a CycloneDX document of the packages whose code is in the bundles. It
 * has neither a number of its own nor a time, so that the same sources make the same document.
 */
import { readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import type { Package } from "./notices.ts"

export interface Component {
  readonly type: "application" | "library" | "platform"
  readonly "bom-ref": string
  readonly group?: string
  readonly name: string
  readonly version: string
  readonly purl: string
  readonly licenses?: ReadonlyArray<{ readonly license: { readonly id: string } }>
  readonly components?: ReadonlyArray<Component>
}

/** The name of the document in the package and beside a binary. */
export const billName = "sbom.cdx.json"

export const componentOf = (
  type: Component["type"],
  registry: string,
  { name, version, license }: Pick<Package, "name" | "version"> & { readonly license?: string }
): Component => {
  const [, group, own = name] = /^(@[^/]+)\/(.+)$/.exec(name) ?? []
  const path = [group, own].flatMap((part) => (part === undefined ? [] : [encodeURIComponent(part)])).join("/")
  const purl = `pkg:${registry}/${path}@${encodeURIComponent(version)}`
  return {
    type,
    "bom-ref": purl,
    ...(group === undefined ? {} : { group }),
    name: own,
    version,
    purl,
    ...(license === undefined ? {} : { licenses: [{ license: { id: license } }] })
  }
}

/** `whole` and everything that is in it; how the parts depend on each other is no longer to be seen in a bundle. */
export const billOf = (whole: Component, components: ReadonlyArray<Component>) => {
  const refs = components.map((component) => component["bom-ref"])
  return {
    $schema: "http://cyclonedx.org/schema/bom-1.6.schema.json",
    bomFormat: "CycloneDX",
    specVersion: "1.6",
    version: 1,
    metadata: { lifecycles: [{ phase: "build" }], component: whole },
    components,
    dependencies: [{ ref: whole["bom-ref"], dependsOn: refs }, ...refs.map((ref) => ({ ref }))]
  }
}

export const writeBill = (bill: ReturnType<typeof billOf>, file: string): void =>
  writeFileSync(file, `${JSON.stringify(bill, null, 2)}\n`)

/** The document of the package. */
export const writePackageBill = (root: string, packages: ReadonlyArray<Package>, dist: string): void => {
  const own = JSON.parse(readFileSync(join(root, "package.json"), "utf8"))
  const libraries = packages.map((each) => componentOf("library", "npm", each))
  writeBill(billOf(componentOf("application", "npm", own), libraries), join(dist, billName))
}
