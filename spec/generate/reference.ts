/** Schemas to reference pages for people: a page for each section and each policy, and one for the types that several of them share. */
import type { Schema } from "effect"
import { type PolicyPlace, type PolicySpec, type PolicySpecs, placeNames } from "../standalone/policies.ts"
import { type Document, document, type Node } from "./json-schema.ts"

/** Pages by file name, relative to the folder of the reference. */
export type Pages = Readonly<Record<string, string>>

interface Page {
  readonly file: string
  readonly title: string
  /** The definition that the page is about. */
  readonly root: string
  readonly note?: string
}

/** Paths of the file are set as code, kinds of objects are words. */
const placeText = (place: PolicyPlace) =>
  place === "llm" || place === "ui" || place === "frontend" ? `\`${placeNames[place]}\`` : placeNames[place]

const kebab = (name: string) => name.replace(/[A-Z]+(?![a-z])|[A-Z]/g, (upper) => `-${upper.toLowerCase()}`)

const refName = (node: Node): string | undefined =>
  typeof node["$ref"] === "string" ? node["$ref"].replace("#/$defs/", "") : undefined

/** Every name that a node refers to. */
const refsOf = (value: unknown, into: Set<string> = new Set()): Set<string> => {
  if (Array.isArray(value)) for (const each of value) refsOf(each, into)
  else if (typeof value === "object" && value !== null)
    for (const [key, each] of Object.entries(value)) {
      if (key === "$ref" && typeof each === "string") into.add(each.replace("#/$defs/", ""))
      else refsOf(each, into)
    }
  return into
}

/** How far policies and kinds of backends have come, by configuration key; what a build does not have is in neither. */
export interface Standing {
  readonly policies: Readonly<Record<string, string>>
  readonly backends: Readonly<Record<string, string>>
}

/** Writes all pages of a file schema. */
export const referencePages = (file: Schema.Top, specs: PolicySpecs, standing: Standing): Pages => {
  const { definitions } = document(file)
  const top = definitions["Standalone"]
  if (top === undefined) throw new Error("the schema of the file has no name")
  const pages = [...sectionPages(top), ...policyPages(specs, definitions, standing), ...connectionPage]
  const owners = ownersOf(pages, definitions)
  const link = linker(owners)

  const written = pages.map((page) => {
    const own = [...owners].filter(([name, owner]) => owner === page.file && name !== page.root).map(([name]) => name)
    const parts = [
      `# ${page.title}`,
      describe(page.root, definitions, link(page.file)),
      ...(page.note === undefined ? [] : [page.note]),
      ...own.map((name) => `## ${name}\n\n${describe(name, definitions, link(page.file))}`)
    ]
    return [page.file, `${parts.join("\n\n")}\n`] as const
  })
  const shared = [...owners].filter(([, owner]) => owner === typesFile).map(([name]) => name)
  const types = shared.map((name) => `## ${name}\n\n${describe(name, definitions, link(typesFile))}`)
  return Object.fromEntries([
    ["README.md", index(top, pages, link("README.md"), specs, standing)],
    ...written,
    [typesFile, `# Types\n\nWhat several pages refer to.\n\n${types.join("\n\n")}\n`]
  ])
}

const typesFile = "types.md"

const connectionPage: ReadonlyArray<Page> = [
  { file: "connection-policies.md", title: "Connection policies", root: "ConnectionPolicies" }
]

const sectionPages = (top: Node): ReadonlyArray<Page> =>
  Object.entries(top["properties"] as Record<string, Node>).flatMap(([section, node]) => {
    const root = [...refsOf(node)].find((name) => name !== "ShortString" && name !== "JsonObject")
    return root === undefined ? [] : [{ file: `${kebab(section)}.md`, title: `\`${section}\``, root }]
  })

const policyPages = (
  specs: PolicySpecs,
  definitions: Document["definitions"],
  { policies }: Standing
): ReadonlyArray<Page> =>
  Object.entries(specs).map(([name, spec]) => {
    const holder = Object.values(definitions).find(
      (node) => name in ((node["properties"] ?? {}) as object) && isPolicies(node, specs)
    )
    const field = (holder?.["properties"] as Record<string, Node> | undefined)?.[name]
    const names = field === undefined ? [] : [...refsOf(field)].filter((each) => !each.startsWith("Conditional"))
    const root = names[0]
    if (root === undefined) throw new Error(`policy ${name} has no definition`)
    return {
      file: `policies/${kebab(name)}.md`,
      title: `\`${name}\``,
      root,
      note: [whereWritten(spec), sentence(policies[name] ?? notServed(spec))].join("\n\n")
    }
  })

const notServed = ({ isIdle }: PolicySpec): string =>
  isIdle === undefined
    ? "not served by this build; a file that asks for it is refused"
    : "not served by this build; a file may ask for no more than what happens without it"
const sentence = (words: string) => `${words[0]!.toUpperCase()}${words.slice(1)}.`

/** Whether an object holds policies: most of its keys are their names. */
const isPolicies = (node: Node, specs: PolicySpecs): boolean => {
  const keys = Object.keys((node["properties"] ?? {}) as object)
  return keys.filter((key) => key in specs).length > keys.length / 2
}

const whereWritten = ({ places, conditional, alias }: PolicySpec): string => {
  const where = `It can be written on ${list(places.map((place) => placeText(place)))}.`
  const choice =
    conditional === true
      ? " On listeners and routes it may be `conditional`: a list of up to 64 entries, each with the fields above and a `condition`; the first entry whose condition is true applies, and only the last one may have none."
      : ""
  return where + choice + (alias === undefined ? "" : ` \`${alias}\` is another name for it.`)
}

const list = (parts: ReadonlyArray<string>): string =>
  parts.length < 2 ? parts.join("") : `${parts.slice(0, -1).join(", ")} and ${parts.at(-1)}`

/** The page of every definition: the one page that leads to it, or the page of shared types. */
const ownersOf = (pages: ReadonlyArray<Page>, definitions: Document["definitions"]): ReadonlyMap<string, string> => {
  const owners = new Map(pages.map(({ root, file }) => [root, file]))
  const roots = new Set(owners.keys())
  const reached = new Map<string, Set<string>>()
  for (const page of pages) {
    const queue = [page.root]
    const seen = new Set(queue)
    for (let name = queue.pop(); name !== undefined; name = queue.pop())
      for (const ref of refsOf(definitions[name])) {
        if (seen.has(ref) || roots.has(ref)) continue
        seen.add(ref)
        queue.push(ref)
        reached.set(ref, (reached.get(ref) ?? new Set()).add(page.file))
      }
  }
  for (const name of Object.keys(definitions)) {
    const files = reached.get(name)
    if (files !== undefined) owners.set(name, files.size === 1 ? [...files][0]! : typesFile)
  }
  return owners
}

/** Links from one page to a definition. */
type Link = (name: string) => string

const linker =
  (owners: ReadonlyMap<string, string>) =>
  (from: string): Link =>
  (name) => {
    const file = owners.get(name)
    if (file === undefined) return name
    const up = from.includes("/") ? "../" : ""
    const anchor = `#${name.toLowerCase()}`
    return `[${name}](${file === from ? anchor : `${up}${file}${file === typesFile ? anchor : ""}`})`
  }

const describe = (name: string, definitions: Document["definitions"], link: Link): string => {
  const node = definitions[name]!
  const description = typeof node["description"] === "string" ? [node["description"]] : []
  const properties = Object.entries((node["properties"] ?? {}) as Record<string, Node>)
  if (properties.length === 0)
    return [...description, `Type: ${typeText({ ...node, description: undefined }, link)}.${bounds(node)}`].join("\n\n")
  const wanted = new Set((node["required"] ?? []) as ReadonlyArray<string>)
  const rows = properties.map(([key, field]) => row(key, field, wanted.has(key), link))
  const rest = typeof node["additionalProperties"] === "object" ? ["Other keys are allowed."] : []
  return [
    ...description,
    ...rules(node),
    ["| Field | Type | Default | Meaning |", "|---|---|---|---|", ...rows].join("\n"),
    ...rest
  ].join("\n\n")
}

const row = (key: string, field: Node, isRequired: boolean, link: Link): string => {
  const value = isRequired ? "required" : "default" in field ? `\`${JSON.stringify(field["default"])}\`` : ""
  const meaning = typeof field["description"] === "string" ? field["description"] : ""
  return `| \`${key}\` | ${cell(typeText(field, link))} | ${cell(value)} | ${cell(meaning + bounds(field))} |`
}

const cell = (text: string) => text.replaceAll("|", "\\|").replaceAll("\n", " ")

const typeText = (node: Node, link: Link): string => {
  const ref = refName(node)
  if (ref !== undefined) return link(ref)
  if (Array.isArray(node["enum"])) return node["enum"].map((value) => `\`${String(value)}\``).join(", ")
  if ("const" in node) return `\`${String(node["const"])}\``
  const alternatives = (node["anyOf"] ?? node["oneOf"]) as ReadonlyArray<Node> | undefined
  if (alternatives !== undefined && node["type"] === undefined)
    return alternatives.map((each) => typeText(each, link)).join(" or ")
  if (node["type"] === "array") return `list of ${typeText((node["items"] ?? {}) as Node, link)}`
  if (node["type"] === "object") {
    const values = node["additionalProperties"]
    return typeof values === "object" ? `map of ${typeText(values as Node, link)}` : "object"
  }
  return typeof node["type"] === "string" ? node["type"] : "any"
}

const words: ReadonlyArray<readonly [keyword: string, text: (value: unknown) => string]> = [
  ["minimum", (value) => `at least ${value}`],
  ["maximum", (value) => `at most ${value}`],
  ["minLength", (value) => `at least ${value} characters`],
  ["maxLength", (value) => `at most ${value} characters`],
  ["minItems", (value) => `at least ${value} entries`],
  ["maxItems", (value) => `at most ${value} entries`],
  ["pattern", (value) => `matches \`${String(value)}\``]
]

const bounds = (node: Node): string => {
  const parts = [node, ...((node["allOf"] ?? []) as ReadonlyArray<Node>)]
  const told = parts.flatMap((part) => words.filter(([key]) => key in part).map(([key, text]) => text(part[key])))
  return told.length === 0 ? "" : ` (${told.join(", ")})`
}

/** What holds between the fields, as sentences. */
const rules = (node: Node): ReadonlyArray<string> =>
  [node, ...((node["allOf"] ?? []) as ReadonlyArray<Node>)].flatMap((part) => {
    const told: Array<string> = []
    const choices = ((part["oneOf"] ?? []) as ReadonlyArray<Node>).map(
      (each) => ((each["required"] ?? []) as ReadonlyArray<string>)[0]
    )
    if (choices.length > 0) told.push(`Exactly one of ${choices.map((key) => `\`${key}\``).join(", ")}.`)
    const excluded = (part["not"] as Node | undefined)?.["required"] as ReadonlyArray<string> | undefined
    if (excluded?.length === 2) told.push(`\`${excluded[0]}\` and \`${excluded[1]}\` exclude each other.`)
    return told
  })

const index = (top: Node, pages: ReadonlyArray<Page>, link: Link, specs: PolicySpecs, standing: Standing): string => {
  const sections = Object.entries(top["properties"] as Record<string, Node>).map(([key, field]) =>
    row(key, field, false, link)
  )
  const policies = pages
    .filter(({ file }) => file.startsWith("policies/"))
    .map(({ file, title }) => {
      const name = title.replaceAll("`", "")
      const where = list(specs[name]!.places.map((place) => placeText(place)))
      return `| [${title}](${file}) | ${where} | ${sentence(standing.policies[name] ?? notServed(specs[name]!))} |`
    })
  return `${[
    "# Configuration reference",
    "Generated from the schemas that decode the file. A file is YAML or JSON; unknown keys are errors. [Environment variables](environment.md) win over the settings in `config`.",
    "The command-line tool has [its own page](commands.md), and so have the [exit codes](exit-codes.md) of both programs, the [management endpoints](endpoints.md), the [metrics](metrics.md), the [phases](phases.md) of a request and the [warnings](warnings.md) about files.",
    "## Sections",
    ["| Section | Type | Default | Meaning |", "|---|---|---|---|", ...sections].join("\n"),
    "## Policies",
    ["| Policy | Where | State |", "|---|---|---|", ...policies].join("\n"),
    "## Kinds of backends",
    [
      "| Kind | State |",
      "|---|---|",
      ...Object.entries(standing.backends).map(([kind, words]) => `| \`${kind}\` | ${sentence(words)} |`)
    ].join("\n")
  ].join("\n\n")}\n`
}
