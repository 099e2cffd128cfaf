/**
 * Forms of a file that others have replaced, written in the newer ones: as edits of the text, so that everything else stays as
 * it was written. Each is tried, and kept only where the file means the same afterwards.
 */
import { type Entry, type Node, parseDocument } from "../../../spec/config/document.ts"
import { hideReferences } from "../../../spec/config/format.ts"
import { formatPath, type Path } from "../../../spec/config/path.ts"
import { type Checked, type ConfigurationText, check } from "../../check/check.ts"
import { fixedForms } from "../../routing/lint/deprecated.ts"
import type { Normalised } from "../../routing/normalised.ts"
import { differences } from "./differences.ts"
import type { Finding } from "./finding.ts"

export interface Migrated {
  readonly text: string
  /** What became of each old form, by its place in the text as it was. */
  readonly findings: ReadonlyArray<Finding>
}

interface Edit {
  readonly start: number
  readonly end: number
  readonly text: string
}

interface Form {
  readonly path: Path
  /** What to write, and where; a sentence where this build does not serve what would be written. */
  readonly edits: (text: string, root: Node) => ReadonlyArray<Edit> | string
  readonly done: string
  /** What is not as it was afterwards. */
  readonly loses?: string | undefined
  /** Whether two configurations are the same but for this form. */
  readonly isSame: (older: Checked, newer: Checked) => boolean
}

const entryAt = (root: Node, path: Path) => {
  let node: Node | undefined = root
  for (const step of path.slice(0, -1))
    node = typeof step === "number" ? node?.items?.[step] : node?.entries?.get(step)?.node
  return node?.entries?.get(String(path.at(-1)))
}

/** A word as a key or a value beside others: in quotes where they are. */
const like = (text: string, neighbour: number, word: string) => (text[neighbour] === '"' ? JSON.stringify(word) : word)

const insert = (start: number, text: string): Edit => ({ start, end: start, text })

/** Adds a gateway to a file: beside the others, or in a section at the end. */
const addGateway = (text: string, root: Node, name: string, port: string): Edit => {
  const [first] = root.entries?.values() ?? []
  const word = (it: string) => like(text, first?.keyStart ?? 0, it)
  const written = `${word(name)}: { ${word("port")}: ${port} }`
  const there = root.entries?.get("gateways")?.node
  if (there?.entries !== undefined && text[there.start] === "{")
    return insert(there.start + 1, ` ${written}${there.entries.size > 0 ? "," : ""}`)
  const [beside] = there?.entries?.values() ?? []
  if (beside !== undefined) {
    const indent = " ".repeat(beside.keyStart - text.lastIndexOf("\n", beside.keyStart - 1) - 1)
    return insert(beside.keyStart, `${name}:\n${indent}  port: ${port}\n${indent}`)
  }
  if (text[root.start] === "{") return insert(root.start + 1, ` ${word("gateways")}: { ${written} },`)
  return insert(text.length, `${text.endsWith("\n") ? "" : "\n"}gateways:\n  ${name}:\n    port: ${port}\n`)
}

/** What listens where, and which routes it has. */
const servedBy = ({ binds }: Normalised): string =>
  JSON.stringify(
    binds
      .map(({ port, address, listeners }) => [
        port,
        address,
        listeners.map(({ hostname, routes }) => [
          hostname || "*",
          routes.map(({ path }) => formatPath(path)).toSorted()
        ])
      ])
      .map((bind) => JSON.stringify(bind))
      .toSorted()
  )

/** The port of a section that has one of its own; both, where they share it. */
const ownPorts = (sections: ReadonlyArray<"llm" | "mcp">): Form => ({
  path: [sections[0]!, "port"],
  done: `a gateway, and ${sections.map((section) => `${section}.gateways`).join(" and ")}`,
  // Alone on a port, the servers answer at every path of it.
  loses: sections[0] === "mcp" ? "it answers at /mcp, /sse and /.well-known, and at no other path any more" : undefined,
  edits: (text, root) => {
    const ports = sections.map((section) => entryAt(root, [section, "port"])!)
    const [{ node }] = ports as [Entry]
    const written = text.slice(node.start, node.end)
    const gateways = root.entries?.get("gateways")?.node.entries ?? new Map<string, Entry>()
    let name: string = sections[0]!
    while (gateways.has(name)) name = `${name}-own`
    const attached = ports.map(({ keyStart, node: { end } }) => ({
      start: keyStart,
      end,
      text: `${like(text, keyStart, "gateways")}: ${like(text, keyStart, name)}`
    }))
    return [...attached, addGateway(text, root, name, written)]
  },
  isSame: (older, newer) => servedBy(older.config!) === servedBy(newer.config!)
})

const hostOverride = (path: Path): Form => ({
  path,
  done: "baseUrl",
  edits: (text, root) => {
    const { keyStart, keyEnd, node } = entryAt(root, path)!
    const quoted = /["']/.test(text[node.start]!) ? 1 : 0
    return [
      { start: keyStart, end: keyEnd, text: like(text, keyStart, "baseUrl") },
      insert(node.start + quoted, "http://")
    ]
  },
  isSame: (older, newer) => {
    const side = ({ config, positions, hidden }: Checked) => ({ config: config!, positions: positions!, hidden })
    return differences(side(older), side(newer)).length === 0
  }
})

const notServed = (path: Path, replacement: string): Form => ({
  path,
  done: replacement,
  edits: () => `left as it is: this build does not have ${replacement} yet`,
  isSame: () => true
})

const portsOf = (root: Node): ReadonlyArray<Form> => {
  const [llm, mcp] = (["llm", "mcp"] as const).map((section) => entryAt(root, [section, "port"])?.node.scalar)
  if (llm !== undefined && llm === mcp) return [ownPorts(["llm", "mcp"])]
  return [...(llm === undefined ? [] : [ownPorts(["llm"])]), ...(mcp === undefined ? [] : [ownPorts(["mcp"])])]
}

const forms = (root: Node): ReadonlyArray<Form> => {
  const below = (section: string) =>
    (entryAt(root, ["llm", section])?.node.items ?? []).map((_, index) =>
      hostOverride(["llm", section, index, "params", "hostOverride"])
    )
  const all = [
    ...fixedForms.filter(([path]) => path.at(-1) !== "port").map(([path, replacement]) => notServed(path, replacement)),
    ...portsOf(root),
    ...below("models"),
    ...below("providers")
  ]
  return all.filter(({ path }) => entryAt(root, path) !== undefined)
}

const edited = (text: string, edits: ReadonlyArray<Edit>): string =>
  edits
    .toSorted((a, b) => b.start - a.start)
    .reduce((at, { start, end, text: written }) => at.slice(0, start) + written + at.slice(end), text)

/** The tree of a text that is right, with its references as they are written. */
const treeOf = (text: string): Node => {
  const parsed = parseDocument(hideReferences(text).text)
  if (!parsed.ok) throw new Error("a configuration that is right can be parsed")
  return parsed.root
}

/** @param source a text that was checked, and is right. */
export const migrate = (source: ConfigurationText): Migrated => {
  const findings: Array<Finding> = []
  let text = source.text
  let before = check(source)
  for (const { path, edits, done, loses, isSame } of forms(treeOf(text))) {
    const tell = (verdict: Finding["verdict"], message: string) =>
      findings.push({ verdict, path: formatPath(path), message })
    const found = edits(text, treeOf(text))
    if (typeof found === "string") {
      tell("manual", found)
      continue
    }
    const attempt = edited(text, found)
    const after = check({ ...source, text: attempt })
    if (after.config === undefined || !isSame(before, after)) {
      tell("manual", `left as it is: written as ${done}, something else of the file would change its meaning`)
      continue
    }
    if (loses === undefined) tell("exact", done)
    else tell("approximate", `${done}; ${loses}`)
    text = attempt
    before = after
  }
  return { text, findings }
}
