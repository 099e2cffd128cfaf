// biome-ignore-all lint/suspicious/noTemplateCurlyInString: references to the environment look like placeholders.
import { globSync, readFileSync } from "node:fs"
import { join, resolve } from "node:path"
import { assert, describe, it } from "@effect/vitest"
import { Document, isMap, isScalar, isSeq, visit } from "yaml"
import { schemas } from "../../stages/schemas.ts"
import { document, type Node } from "../generate/json-schema.ts"
import { type Choices, choices, sampler } from "../generate/samples.ts"
import { standalone } from "../standalone.ts"
import type { Environment } from "./expand.ts"
import { format } from "./format.ts"
import { load } from "./load.ts"
import { shapeOf } from "./shape.ts"

const file = standalone(schemas)
const shape = shapeOf(file.ast)

const formatted = (text: string): string => {
  const result = format(text, shape)
  return result.ok ? result.text : assert.fail(`${JSON.stringify(result.problems)}\n${text}`)
}

describe("the canonical form", () => {
  const cases: ReadonlyArray<readonly [title: string, text: string, canonical: string]> = [
    [
      "keys in the order of the reference, a name first, and one indentation",
      "routes:\n    -   backends:\n          - { weight: 1, host: a:1 }\n        name: a\ngateways: {default: {port: 80}}\n",
      "gateways: { default: { port: 80 } }\nroutes:\n  - name: a\n    backends:\n      - { host: a:1, weight: 1 }\n"
    ],
    [
      "free keys in the order of the file",
      "gateways:\n  b: {port: 2}\n  a: {port: 1}\n",
      "gateways:\n  b: { port: 2 }\n  a: { port: 1 }\n"
    ],
    [
      "comments go with what they are about",
      "# yaml-language-server: $schema=x\n# The file.\n\n# Routes.\nroutes: [] # none\n# Gateways.\ngateways:\n  # The one.\n  default: { port: 80 }\n# The end.\n",
      "# yaml-language-server: $schema=x\n# The file.\n\n# Gateways.\ngateways:\n  # The one.\n  default: { port: 80 }\n# Routes.\nroutes: [] # none\n# The end.\n"
    ],
    [
      "the comment of a mapping's first key goes with it when it moves",
      "routes:\n- policies: {}\n  name: a\n- # about backends\n  backends: []\n  name: b\n",
      "routes:\n  - name: a\n    policies: {}\n  - name: b\n    # about backends\n    backends: []\n"
    ],
    [
      "a comment between a list at the margin and the next key is of that key",
      "routes:\n- policies:\n    authorization:\n      rules:\n      - x\n\n    # About cors.\n    cors: {}\n  # About the name.\n  name: a\n",
      "routes:\n  # About the name.\n  - name: a\n    policies:\n      # About cors.\n      cors: {}\n      authorization:\n        rules:\n          - x\n"
    ],
    [
      "references stay as they are, whatever they hold",
      "gateways: {default: {port: ${PORT:-80}, cors: {allowOrigins: [$A, \"${B:-x: [y]}\", '$$']}}}\n",
      "gateways: { default: { port: ${PORT:-80}, cors: { allowOrigins: [$A, \"${B:-x: [y]}\", '$$'] } } }\n"
    ],
    [
      "a tilde or a dollar sign that is written so that it stands for nothing else stays so",
      'routes: [{name: "\\x7e/a"}, {name: "\\u0024A"}, {name: \'\\x7e/a\'}, {name: "\\\\x7e"}]\n',
      'routes: [{ name: "\\x7e/a" }, { name: "\\u0024A" }, { name: \'\\x7e/a\' }, { name: "\\\\x7e" }]\n'
    ],
    [
      "what stands on several lines becomes a block, and text keeps its lines",
      "routes: [\n  { name: a,\n    policies: { authorization: { rules: [ x ] } } }\n]\nconfig:\n    customFunctions: >-\n        a\n          b\n\n        c\n",
      "config:\n  customFunctions: >-\n    a\n      b\n\n    c\nroutes:\n  - name: a\n    policies: { authorization: { rules: [x] } }\n"
    ],
    [
      "a comment behind the header of a text stays there",
      "config:\n    customFunctions: >- # Why.\n        a\n",
      "config:\n  customFunctions: >- # Why.\n    a\n"
    ],
    [
      "an alias stays behind its anchor",
      "routes: &r [{ name: a }]\ngateways: {}\nrouteGroups: [{ routes: *r, name: g }]\n",
      "routes: &r [{ name: a }]\ngateways: {}\nrouteGroups: [{ routes: *r, name: g }]\n"
    ],
    [
      "JSON stays JSON",
      '{"routes":[],"gateways":{"a":{"port":1}}}',
      '{\n  "gateways": {\n    "a": {\n      "port": 1\n    }\n  },\n  "routes": []\n}\n'
    ],
    [
      "blank lines are single, line ends those of Unix",
      "gateways: {}\r\n\r\n\r\nroutes: []\r\n\r\n",
      "gateways: {}\n\nroutes: []\n"
    ],
    ["a file of comments", "# nothing\n\n", "# nothing\n"],
    ["nothing", "", ""]
  ]
  for (const [title, text, canonical] of cases)
    it(title, () => {
      assert.strictEqual(formatted(text), canonical)
      assert.strictEqual(formatted(canonical), canonical)
    })

  it("leaves alone what it would change: a last text that keeps its blank lines", () => {
    for (const text of ["m: |+\n  kept\n\n# last\n", "m: >+\n  kept\n\n", "m: |+\n  kept\n\n\n# last\n"])
      assert.isFalse(format(text, shape).ok, JSON.stringify(text))
  })

  it("of a text that cannot be parsed is told by its problem", () => {
    assert.deepStrictEqual(format("a: ${X:-1}\nb: [", shape), {
      ok: false,
      problems: [{ start: 14, message: "the bracket that begins here is not closed", code: "yaml" }]
    })
  })
})

const folder = resolve(import.meta.dirname, "../../examples")

/** Whatever a file asks for. */
const environment = (text: string): Environment =>
  Object.fromEntries([...text.matchAll(/\$\{?([A-Z_]+)/g)].map(([, name]) => [name!, "0a".repeat(32)]))

const meaning = (text: string) => {
  const loaded = load({ name: "config.yaml", text, env: environment(text) }, file)
  return loaded.ok ? loaded.value : loaded.problems.map(({ message, path }) => `${path}: ${message}`).sort()
}

const comments = (text: string) =>
  text
    .split("\n")
    .flatMap((line) => line.match(/#\d+#/g) ?? [])
    .sort()

/** A file as somebody may have written it: with comments, references, and one or the other style. */
const written = (value: unknown, choose: Choices): string => {
  const document = new Document(value)
  let count = 0
  const comment = () => ` #${count++}#`
  visit(document, {
    Map: (_, node) => {
      node.flow = node.items.length === 0 || choose.chance(0.1)
    },
    Seq: (_, node) => {
      node.flow = node.items.length === 0 || choose.chance(0.1)
    },
    Pair: (_, { key, value }) => {
      if (!isScalar(key) || choose.chance(0.8)) return
      key.commentBefore = comment()
      key.spaceBefore = choose.chance(0.5)
      if (isScalar(value) && choose.chance(0.5)) value.comment = comment()
      if ((isMap(value) || isSeq(value)) && value.items.length > 0 && choose.chance(0.5)) value.comment = comment()
    },
    Scalar: (key, node) => {
      if (key === "key" || choose.chance(0.9)) return
      if (typeof node.value === "string" && /^[\w/.:-]+$/.test(node.value)) {
        // A reference ends on its line, and a long one in double quotes, which a plain one gets within braces, would be folded.
        const isLong = node.value.length > 32
        node.value = choose.pick([`\${NAME${choose.below(9)}:-${node.value}}`, `$NAME`])
        const type = choose.pick(["PLAIN", "QUOTE_DOUBLE", "QUOTE_SINGLE"] as const)
        node.type = isLong ? "QUOTE_SINGLE" : type
      }
    }
  })
  return document.toString({
    indent: choose.pick([1, 2, 4]),
    indentSeq: choose.chance(0.5),
    lineWidth: choose.pick([0, 60]),
    // A reference ends on its line.
    doubleQuotedMinMultiLineLength: 1000
  })
}

describe("laws of the canonical form", () => {
  it("examples mean what they meant, and are formatted once", () => {
    const names = globSync("*/config.yaml", { cwd: folder })
    assert.isAtLeast(names.length, 30)
    for (const name of names) {
      const text = readFileSync(join(folder, name), "utf8")
      const once = formatted(text)
      assert.strictEqual(formatted(once), once, name)
      assert.deepStrictEqual(meaning(once), meaning(text), name)
      assert.deepStrictEqual(once.match(/#.*/g)?.toSorted(), text.match(/#.*/g)?.toSorted(), name)
    }
  })

  it("generated files mean what they meant, keep their comments, and are formatted once", () => {
    const described = document(file)
    const sample = sampler(described)
    const sections = Object.entries(described.definitions["Standalone"]!["properties"] as Record<string, Node>)
    const seen = { changed: 0, comments: 0, references: 0 }
    for (let seed = 1; seed <= 160; seed++) {
      const choose = choices(seed * 32_452_843)
      const some = [choose.pick(sections), choose.pick(sections)]
      const text = written(Object.fromEntries(some.map(([key, node]) => [key, sample(node, choose)])), choose)
      const once = formatted(text)
      assert.strictEqual(formatted(once), once, `seed ${seed}\n${text}`)
      assert.deepStrictEqual(meaning(once), meaning(text), `seed ${seed}\n${text}`)
      assert.deepStrictEqual(comments(once), comments(text), `seed ${seed}\n${text}`)
      if (once !== text) seen.changed++
      if (comments(text).length > 0) seen.comments++
      if (text.includes("${")) seen.references++
    }
    for (const count of Object.values(seen)) assert.isAbove(count, 25, JSON.stringify(seen))
  })
})
