/** The drawing of graphs: whatever stands in a configuration, it is one Mermaid flow chart, and says what the graphs say. */
import { assert, it } from "@effect/vitest"
import { Arbitrary } from "effect"
import { oneOf } from "../main/testing/arbitraries.ts"
import { type GraphEdge, type GraphNode, mermaid, type RouteGraph } from "./graph.ts"

const text = (quoted: string): string => {
  // Nothing that Mermaid would read as its own: quotes, entities, markup and Markdown.
  assert.notMatch(quoted.replaceAll("<br/>", ""), /["<>`&]|#(?!(?:quot|amp|lt|gt|35|96);)/)
  const characters: Readonly<Record<string, string>> = { quot: '"', amp: "&", lt: "<", gt: ">", "35": "#", "96": "`" }
  return quoted.replaceAll(/#(\w+);/g, (_, name: string) => characters[name]!)
}

const shapes: ReadonlyArray<readonly [form: RegExp, kinds: ReadonlyArray<GraphNode["kind"]>]> = [
  [/^\(\["([^"]*)"\]\)$/, ["start", "end"]],
  [/^\{"([^"]*)"\}$/, ["routeSelection", "backendSelection"]],
  [/^\{\{"([^"]*)"\}\}$/, ["attempt"]],
  [/^\[\/"([^"]*)"\/\]$/, ["connection"]],
  [/^\[\["([^"]*)"\]\]$/, ["backendCall"]],
  [/^\["([^"]*)"\]$/, ["stage"]]
]

/** A reader that knows the part of Mermaid's grammar that is written, and nothing else. */
const read = (document: string) => {
  const [head, ...lines] = document.split("\n")
  assert.strictEqual(head, "flowchart TD")
  assert.strictEqual(lines.pop(), "")
  const boxes: Array<{ title: string; nodes: Array<[kinds: unknown, text: string]>; edges: Array<unknown> }> = []
  const ids = new Map<string, number>()
  let open = false
  for (const line of lines) {
    const box = /^ {2}subgraph (\w+)\["([^"]*)"\]$/.exec(line)
    const edge = /^ {4}(\w+) (-->|-->\|(\w+)\||-\.->\|"([^"]*)"\|) (\w+)$/.exec(line)
    const node = /^ {4}(\w+)(\W.*)$/.exec(line)
    const current = boxes.at(-1)
    if (box !== null) {
      assert.isFalse(open, line)
      open = true
      boxes.push({ title: text(box[2]!), nodes: [], edges: [] })
    } else if (line === "  end") {
      assert.isTrue(open)
      open = false
    } else if (edge !== null) {
      const [, from, arrow, kind, slot, to] = edge
      assert.isTrue(open && ids.has(from!) && ids.has(to!), line)
      const label = slot === undefined ? null : text(slot)
      current!.edges.push([ids.get(from!), ids.get(to!), kind ?? (arrow === "-->" ? "next" : "data"), label])
    } else {
      assert.isNotNull(node, line)
      const [, id, shape] = node!
      const [kinds, found] = shapes.flatMap(([form, kinds]) => {
        const match = form.exec(shape!)
        return match === null ? [] : [[kinds, text(match[1]!)] as const]
      })[0]!
      assert.isFalse(ids.has(id!), line)
      ids.set(id!, current!.nodes.length)
      current!.nodes.push([kinds, found])
    }
  }
  assert.isFalse(open)
  return boxes
}

const odd = oneOf(
  "a",
  "end",
  'x"]',
  "#35;",
  "a < b && c > d",
  "`b`",
  "%% no",
  "-->",
  "one\ntwo",
  "größe",
  "[*]",
  "|",
  ""
)

const node = Arbitrary.map(
  Arbitrary.all([oneOf<GraphNode["kind"]>(...shapes.flatMap(([, kinds]) => kinds)), odd, odd]),
  ([kind, label, condition]): Omit<GraphNode, "id"> => ({
    kind,
    label,
    condition: condition === "" ? null : condition,
    phase: null,
    policy: null,
    path: null,
    position: "config.yaml:1:1",
    failMode: null
  })
)
const edge = Arbitrary.all([
  oneOf(0, 1, 2, 3),
  oneOf(0, 1, 2, 3),
  oneOf<GraphEdge["kind"]>("next", "respond", "fail", "failOpen", "data"),
  odd
])
const graphs = Arbitrary.array(
  Arbitrary.map(
    Arbitrary.all([odd, odd, Arbitrary.array(node, { minLength: 4, maxLength: 6 }), Arbitrary.array(edge)]),
    ([route, backend, nodes, edges]): RouteGraph => ({
      listener: "gateway/default",
      route,
      backend: backend === "" ? null : backend,
      nodes: nodes.map((each, index) => ({ ...each, id: `node ${index}` })),
      edges: edges.map(([from, to, kind, label]) => ({
        from: `node ${from}`,
        to: `node ${to}`,
        kind,
        label: kind === "data" ? label : null
      }))
    })
  ),
  { maxLength: 4 }
)

it.prop("several graphs are one flow chart, which says the same", [graphs], ([all]) => {
  const line = (words: string) => words.replaceAll("\n", " ")
  const indexOf = (id: string) => Number(id.slice("node ".length))
  assert.deepStrictEqual(
    read(mermaid(all)).map(({ title, nodes, edges }) => ({ title, nodes: nodes.map(([, words]) => words), edges })),
    all.map(({ route, backend, nodes, edges }) => ({
      title: line(backend === null ? route : `${route} to ${backend}`),
      nodes: nodes.map(({ label, position, condition }) =>
        line(
          [label, position, condition === null ? null : `if ${condition}`].filter((each) => each !== null).join("<br/>")
        )
      ),
      edges: edges.map(({ from, to, kind, label }) => [
        indexOf(from),
        indexOf(to),
        kind,
        label === null ? null : line(label)
      ])
    }))
  )
  for (const [index, { nodes }] of read(mermaid(all)).entries())
    for (const [at, [kinds]] of nodes.entries())
      assert.include(kinds as ReadonlyArray<string>, all[index]!.nodes[at]!.kind)
})
