/** Whose work is in the bundles, under which licence: the text that these licences ask for. */
import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs"
import { dirname, join } from "node:path"

export interface Package {
  readonly name: string
  readonly version: string
  readonly license: string
  /** The text of the licence, as the package carries it. */
  readonly text: string
}

/** Licences that may be in a package under Apache-2.0. */
const allowed = new Set([
  "MIT",
  "ISC",
  "BSD-2-Clause",
  "BSD-3-Clause",
  "Apache-2.0",
  "BlueOak-1.0.0",
  "Unlicense",
  "0BSD"
])

const isPackage = (folder: string) => {
  const file = join(folder, "package.json")
  return existsSync(file) && JSON.parse(readFileSync(file, "utf8")).version !== undefined
}

/** What the bundler adds of its own has no file. */
const fileOf = (root: string, id: string) =>
  id.startsWith("\0rolldown/") ? join(root, "node_modules", "rolldown", "runtime.js") : id

/** The packages to which these modules belong, by name. */
export const packagesOf = (root: string, modules: ReadonlyArray<string>): ReadonlyArray<Package> => {
  const folders = new Set<string>()
  for (const file of modules.map((id) => fileOf(root, id))) {
    if (!file.startsWith(join(root, "node_modules"))) continue
    let folder = dirname(file)
    while (!isPackage(folder)) folder = dirname(folder)
    folders.add(folder)
  }
  const packages = [...folders].map((folder): Package => {
    const { name, version, license } = JSON.parse(readFileSync(join(folder, "package.json"), "utf8"))
    if (!allowed.has(license)) throw new Error(`${name} ${version} is under ${license}, which is not allowed`)
    const file = readdirSync(folder).find((entry) => /^(licen[cs]e|copying)(\.|$)/i.test(entry))
    return { name, version, license, text: file === undefined ? "" : readFileSync(join(folder, file), "utf8").trim() }
  })
  const key = ({ name, version }: Package) => `${name} ${version}`
  return packages.sort((a, b) => (key(a) < key(b) ? -1 : 1))
}

export const writeNotices = (packages: ReadonlyArray<Package>, dist: string): void => {
  const texts = packages.map(
    ({ name, version, license, text }) =>
      `${name} ${version} (${license})\n\n${text === "" ? `Licence: ${license}` : text}`
  )
  const rule = `\n\n${"-".repeat(80)}\n\n`
  const head = "This package holds code of the packages below, each under its own licence."
  writeFileSync(join(dist, "THIRD-PARTY-NOTICES.txt"), `${[head, ...texts].join(rule)}\n`)
}
