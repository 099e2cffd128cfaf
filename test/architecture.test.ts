/** Who may import whom, and which calls are kept off which paths. The tables are the architecture; a violation names file and line. */
import { globSync, readFileSync } from "node:fs"
import { dirname, join, relative, resolve } from "node:path"
import { assert, describe, it } from "@effect/vitest"
import { schemas } from "../stages/schemas.ts"

const root = resolve(import.meta.dirname, "..")

/** What a room of `src/main` may import: the language of configurations, some folders, and some facts of the build. */
const room = (folders: RegExp, ...facts: ReadonlyArray<string>): RegExp =>
  new RegExp(`^(?:(?:spec|${folders.source})/|src/main/(?:${facts.join("|") || "none"})\\.ts$)`)

/** A file may import from its own zone and from what the first matching row allows. */
const allowed: ReadonlyArray<readonly [from: RegExp, to: RegExp]> = [
  [/\.test\.ts$/, /./],
  // The configuration language knows nothing of the engine.
  [/^spec\//, /^spec\//],
  // JSON as text is about nothing but JSON.
  [/^src\/json\//, /^src\/json\//],
  // Which of several endpoints is called depends on how they do, and on nothing of what they are.
  [/^src\/balance\//, /^src\/balance\//],
  // Regular expressions know nothing of those who use them.
  [/^src\/regex\//, /^(src\/regex|spec)\//],
  // The HTTP message model is the vocabulary of everyone.
  [/^src\/http\//, /^((src\/(http|regex)|spec)\/|src\/services\/contained\.ts)/],
  [/^src\/services\//, /^(src\/(services|http)|spec)\//],
  // Certificates and keys are read by whoever speaks TLS, towards clients and towards backends.
  [/^src\/tls\//, /^(src\/(tls|services)|spec)\//],
  [/^src\/cel\//, /^(src\/(cel|regex)|spec)\//],
  // The engine never names a policy or an adapter.
  [/^src\/pipeline\//, /^(src\/(pipeline|services|cel|http)|spec)\//],
  [/^src\/routing\//, /^(src\/(routing|pipeline|cel|http|regex)|spec)\//],
  [/^src\/protocols\/(llm|mcp|a2a)\//, /^(src\/(pipeline|services|cel|http|json|regex)|spec)\//],
  // What policies are written with, and terminals besides, gathered from those who have it.
  [/^src\/policy\//, /^(src\/(pipeline|services|tls|cel|http|json|regex)|spec)\//],
  // Off the loop that serves, as in a thread: a text becomes the normalised form.
  [/^src\/check\//, /^(src\/(check|routing|pipeline)|spec)\/|^stages\/schemas\.ts|^layers\/thread\.ts/],
  // The normalised form becomes what runs: whose policies these are, it is told.
  [/^src\/compile\//, /^(src\/(compile|routing|pipeline|services|tls|cel)|spec)\//],
  // The rooms of the programs, each built on those before it.
  [
    /^src\/main\/configuration\//,
    room(/src\/(check|compile|routing|pipeline|protocols|cel|services)|stages|layers/, "version", "exit-codes")
  ],
  [/^src\/main\/admin\//, room(/src\/(main\/configuration|routing|pipeline|services)|layers/, "version")],
  [
    /^src\/main\/proxy\//,
    room(/src\/(main\/(configuration|admin)|check|compile|pipeline|http|services)|layers/, "version")
  ],
  [/^src\/main\/doctor\//, room(/src\/(main\/(configuration|admin)|check|routing|services)|layers/)],
  [
    /^src\/main\/ctl\//,
    room(/src\/(main\/(configuration|admin|doctor)|check|routing|pipeline|cel)|layers/, "version", "exit-codes")
  ],
  [/^src\/main\/import\//, room(/src\/main\/(configuration|ctl)/)],
  [/^src\/main\/commands\//, room(/src\/main\/(configuration|import|ctl)|layers/, "version", "exit-codes")],
  [
    /^src\/main\/pages\//,
    room(/src\/(main\/(commands|ctl|proxy)|compile|pipeline|protocols|services)|stages|layers/, "exit-codes")
  ],
  [/^src\/main\/testing\//, room(/src\/(main\/configuration|pipeline|protocols|http|cel|services)|layers/)],
  // The programs and the exports of the package.
  [/^src\/main\/[^/]+\.ts$/, /./],
  // Adapters implement ports.
  [/^layers\//, /^(layers|src\/(services|pipeline|http)|spec)\//],
  // The one place that lists the policies.
  [/^stages\/[^/]+\.ts$/, /^(stages|src\/(pipeline|services|cel|http)|spec)\//],
  // What the terminals for models are made from is no wire shape: parts of the file with what is in force for each.
  [/^stages\/backend-llm\/schema\.ts$/, /^(spec\/|stages\/[^/]+\/schema\.ts|src\/policy\/terminal\.ts)/],
  // Wire shapes load without the engine. Those of terminals are parts of the file besides.
  [/^stages\/backend-(dynamic|host|llm|mcp|service)\/schema\.ts$/, /^(spec\/|stages\/[^/]+\/schema\.ts)/],
  [/^stages\/[^/]+\/schema\.ts$/, /^(spec\/policy\.ts|stages\/[^/]+\/schema\.ts)/],
  // Terminals are written with what policies are, their own contract, and the engines of protocols.
  [/^stages\/backend-(dynamic|host|llm|mcp|service)\//, /^src\/(policy|protocols|balance)\//],
  // A policy is written with what `headgate/policy` exports, or how connections are opened, and with nothing else: no other policy, and no layer.
  [/^stages\/[^/]+\//, /^src\/policy\/(policy|connection)\.ts/],
  [/^(test|bench|examples|judges)\//, /./]
]

/** Policies that have the name of something else, too: then only where one is picked out of policies is it looked at. */
const alsoOtherwise: ReadonlySet<string> = new Set([
  ...["http", "tcp", "a2a"], // protocols
  ...["ai", "connect", "buffer"], // a kind of backend, an event of sockets, an encoding
  ...["authorization", "apiKey", "basicAuth"] // a header; slots, and a parameter of models
])

/** Who may name policies that are not their own, and why. Everybody else asks what a policy declares. */
const naming: ReadonlyArray<readonly [files: RegExp, why: string]> = [
  [/^stages\/(schemas|registry)\.ts$/, "the lists of them, and their orders"],
  [/^src\/routing\/normalise\/llm\.ts$/, "the llm section has keys of its own for them"],
  [/^src\/routing\/lint\/(deprecated|unguarded)\.ts$/, "the message says what to write"],
  [/^stages\/backend-(llm|mcp)\//, "a terminal applies them itself, and says which"],
  [/^stages\/backend-tunnel\//, "what a proxy is shown stands in a header of its own"],
  [/^src\/main\/import\//, "a file of another gateway becomes one in which they are written"]
]

const nodeModulesFree = /^(spec|src\/(cel|http|pipeline|routing|services|protocols))\//
const nodeAllowed = /^node:(buffer|crypto|zlib|async_hooks|net|string_decoder)$/

/** Folders that requests run through. */
const requestPath = /^(src\/(http|pipeline|protocols)|stages|layers\/http2?)\//
/** What costs a generator or a turn of the event loop each time, or starts a fiber that knows no service. */
const costly =
  /\bEffect\.(?:gen|fn|fnUntraced|withSpan|provide\w*|promise|tryPromise|run(?:Fork|Promise|Sync))\b|\bawait\b|\basync\b|\bnew Promise\b/
/** What is done while a configuration is compiled, a port is opened or a layer is made, by its name; of policies and terminals, `compile`. */
const beforehand = /^(?:compile|make|open|listen|layer)/

/** What else no request runs through. */
const offThePath: ReadonlyArray<readonly [where: RegExp, why: string]> = [
  [/^src\/pipeline\/expressions\.ts readingSlots$/, "wraps the compiling of a policy"],
  [/^src\/pipeline\/(outbound\.ts toldCall|run\.ts watched)$/, "tells of the calls of a request that is watched"],
  [/^layers\/http\/address\.ts (clearSocketFile|served)$/, "looks at a socket file before it is listened on"],
  [/^layers\/http\/listener\.ts Listener$/, "drains connections when a port is closed"]
]

/** The costly calls of a file, each with the declaration that it stands in. */
const costlyCalls = function* (
  source: string
): Generator<{ readonly line: number; readonly call: string; readonly where: string }> {
  let declaration = ""
  let member = ""
  for (const [index, text] of source.split("\n").entries()) {
    const [, opened, defines] =
      /^(?:export )?(?:const|(?:abstract )?class|(?:async )?function\*?) (\w+)(?: = (policy|terminal|connectionPolicy)\()?/.exec(
        text
      ) ?? []
    if (opened !== undefined) {
      declaration = opened
      member = defines ?? ""
    } else if (member !== "") member = /^ {2}(\w+):/.exec(text)?.[1] ?? member
    if (/^\s*(\/?\*|\/\/)/.test(text)) continue
    const call = costly.exec(text)?.[0]
    if (call !== undefined) yield { line: index + 1, call, where: member === "compile" ? member : declaration }
  }
}

const policyNames = Object.keys(schemas)
/** The name of a policy in quotes, or picked out of policies. */
const namedPolicy = new RegExp(
  `["'\`](${policyNames.filter((name) => !alsoOtherwise.has(name)).join("|")})["'\`]|\\b(?:[pP]olicies|specs)(?:\\?\\.|\\W{1,4})(${policyNames.join("|")})\\b`,
  "g"
)
const folderOf = (policy: string) => policy.replace(/[A-Z]+(?![a-z])|[A-Z]/g, (upper) => `-${upper.toLowerCase()}`)

const zoneOf = (file: string) =>
  /^(src\/(?:protocols|main)\/[^/]+(?=\/)|src\/[^/]+|stages\/[^/]+(?=\/)|[^/]+)/.exec(file)?.[1] ?? file

const sources = globSync("{src,stages,layers,spec,test,bench,judges}/**/*.ts", { cwd: root }).filter(
  (file) => !file.includes("node_modules")
)

const lines = function* (file: string): Generator<readonly [text: string, line: number]> {
  let line = 0
  for (const text of readFileSync(join(root, file), "utf8").split("\n")) yield [text, ++line]
}

/** The files that are loaded with a file: what it imports otherwise than as types. */
const loadedBy = (file: string): ReadonlyArray<string> =>
  Array.from(
    readFileSync(join(root, file), "utf8").matchAll(/^(?:import|export) (?!type )[^"]*? from "(\.[^"]+)"/gm),
    ([, spec]) => relative(root, resolve(root, dirname(file), spec!))
  )

/** Where something is given to node to be called, with what is given. */
const registration =
  /(?:\.(?:on|once|addListener|prependListener|addEventListener)\(\s*[^\s,()]+,|\.addObserver\(|\b(?:setImmediate|setTimeout|setInterval|queueMicrotask)\(|\bprocess\.nextTick\()\s*(\([^)]*\)|[\w.#]+\(?)/g
/** Callbacks that cannot throw, by the names that they have everywhere: nothing, a promise's own, the end of a socket. */
const harmless = new Set(["ignore", "resolve", "destroy"])

/** The callbacks of a file that are handed out as they are. */
const bareCallbacks = (file: string, source: string): ReadonlyArray<string> => {
  const text = source.replaceAll(/^\s*(?:\/?\*|\/\/).*$/gm, "")
  const contained = /^contain(ed|edBy|ing)\($/
  const made = new Set(
    Array.from(text.matchAll(/const (\w+) =\s*(?:contained|containedBy|containing)\(/g), ([, name]) => name!)
  )
  for (const [, name, callee] of text.matchAll(/readonly (#\w+) = \([^)]*\): void => (\w+)\(this\b/g))
    if (made.has(callee!)) made.add(`this.${name}`)
  return Array.from(text.matchAll(registration), (match) => [match.index + match[0].length - 1, match[1]!] as const)
    .filter(([, callback]) => !contained.test(callback) && !made.has(callback) && !harmless.has(callback))
    .map(([at, callback]) => `${file}:${text.slice(0, at).split("\n").length} must be contained: ${callback}`)
}

describe("architecture", () => {
  it("imports follow the table of folders", () => {
    const bad: Array<string> = []
    for (const file of sources) {
      for (const [text, line] of lines(file)) {
        const spec = /(?:from|import\()\s*"(\.[^"]+)"/.exec(text)?.[1]
        if (spec === undefined) continue
        const target = relative(root, resolve(root, dirname(file), spec))
        const rule = allowed.find(([from]) => from.test(file))
        if (rule === undefined || (zoneOf(target) !== zoneOf(file) && !rule[1].test(target)))
          bad.push(`${file}:${line} must not import ${target}`)
      }
    }
    assert.deepStrictEqual(bad, [])
  })

  it("no two files need each other to be loaded", () => {
    const loaded = new Map(sources.map((file) => [file, loadedBy(file)]))
    const circles: Array<string> = []
    const done = new Set<string>()
    const visit = (file: string, way: ReadonlyArray<string>): void => {
      if (way.includes(file)) circles.push([...way.slice(way.indexOf(file)), file].join(" → "))
      else if (!done.has(file)) {
        for (const next of loaded.get(file) ?? []) visit(next, [...way, file])
        done.add(file)
      }
    }
    for (const file of loaded.keys()) visit(file, [])
    assert.deepStrictEqual(circles, [])
  })

  it("nobody knows a policy by name", () => {
    const bad: Array<string> = []
    const excused = new Set<string>()
    const checked = sources.filter((file) => /^(src|layers|stages)\//.test(file) && !file.endsWith(".test.ts"))
    for (const file of checked) {
      const own = /^stages\/([^/]+)\//.exec(file)?.[1]
      for (const [text, line] of lines(file)) {
        if (/^\s*(\/?\*|\/\/)/.test(text)) continue
        for (const [, quotedName, pickedName] of text.matchAll(namedPolicy)) {
          const name = (quotedName ?? pickedName)!
          if (own === folderOf(name)) continue
          const [, why] = naming.find(([files]) => files.test(file)) ?? []
          if (why === undefined) bad.push(`${file}:${line} names ${name}`)
          else excused.add(why)
        }
      }
    }
    assert.deepStrictEqual(bad, [])
    // What nobody needs any more is no excuse.
    assert.deepStrictEqual([...excused].sort(), naming.map(([, why]) => why).sort())
  })

  it("pure folders reach the outside through ports only", () => {
    const bad: Array<string> = []
    for (const file of sources.filter((file) => nodeModulesFree.test(file) && !file.endsWith(".test.ts")))
      for (const [text, line] of lines(file)) {
        const spec = /from\s*"(node:[^"]+)"/.exec(text)?.[1]
        if (spec !== undefined && !nodeAllowed.test(spec)) bad.push(`${file}:${line} must not import ${spec}`)
      }
    assert.deepStrictEqual(bad, [])
  })

  it("no callback of node or a library can let a throw out", () => {
    const bad: Array<string> = []
    // What a thread throws ends the thread, and whoever started it knows.
    const checked = sources.filter(
      (file) =>
        /^(layers|src\/(http|services))\//.test(file) && !file.endsWith(".test.ts") && !file.endsWith("/thread.ts")
    )
    assert.isAbove(checked.length, 40)
    for (const file of checked) bad.push(...bareCallbacks(file, readFileSync(join(root, file), "utf8")))
    assert.deepStrictEqual(bad, [])
  })

  it("bare callbacks are found where they are", () => {
    const source = `
socket.on("data", (chunk) => take(chunk))
socket
  .once(
    "close",
    contained(this, () => {})
  )
  .on("error", ignore)
  .on("end", ended)
setImmediate(() => {}, 1)
process.nextTick(later, this)
setTimeout(known, 5)
const known = containing((a: A) => a.b())
readonly #data = (chunk: Uint8Array): void => known(this, chunk)
request.on("data", this.#data)
`
    assert.deepStrictEqual(bareCallbacks("file.ts", source), [
      "file.ts:2 must be contained: (chunk)",
      "file.ts:9 must be contained: ended",
      "file.ts:10 must be contained: ()",
      "file.ts:11 must be contained: later"
    ])
  })

  it("no request runs through a generator, a promise, a span or a fiber without its services", () => {
    const bad: Array<string> = []
    const excused = new Set<string>()
    const checked = sources.filter((file) => requestPath.test(file) && !/\.test\.ts$|\/fixtures\//.test(file))
    assert.isAbove(checked.length, 200)
    for (const file of checked)
      for (const { line, call, where } of costlyCalls(readFileSync(join(root, file), "utf8"))) {
        if (beforehand.test(where)) continue
        const [, why] = offThePath.find(([place]) => place.test(`${file} ${where}`)) ?? []
        if (why === undefined) bad.push(`${file}:${line} calls ${call} in ${where}`)
        else excused.add(why)
      }
    assert.deepStrictEqual(bad, [])
    assert.deepStrictEqual([...excused].sort(), offThePath.map(([, why]) => why).sort())
  })

  it("costly calls are found where they are", () => {
    const source = `
export const compileThis = Effect.gen(function* () {})
export const node = policy({
  outcomes: [],
  compile: () =>
    Effect.gen(function* () {}),
  failOpen: async () => true
})
const run = () =>
  Effect.withSpan(work, "x")
// An Effect.gen of a comment.
class Reader {
  async read() {}
}`
    assert.deepStrictEqual(
      [...costlyCalls(source)].map(({ line, call, where }) => `${line} ${call} ${where}`),
      ["2 Effect.gen compileThis", "6 Effect.gen compile", "7 async node", "10 Effect.withSpan run", "13 async Reader"]
    )
  })

  it("the command-line tool loads no engine before a command asks for it", () => {
    const start = "src/main/ctl/main.ts"
    const from = new Map([[start, ""]])
    for (const file of from.keys()) for (const target of loadedBy(file)) if (!from.has(target)) from.set(target, file)
    assert.isTrue(from.has("src/main/ctl/trace.ts"))
    const heavy =
      /^(stages\/|src\/(routing|check|compile)\/|src\/main\/(proxy\/|configuration\/(distribution|snapshot|ports)\.ts))/
    assert.deepStrictEqual(
      [...from].filter(([file]) => heavy.test(file)).map(([file, by]) => `${by} must not load ${file}`),
      []
    )
  })

  it("every source file opens by saying what it is", () => {
    const silent = sources.filter(
      (file) =>
        !file.endsWith(".test.ts") &&
        !file.includes("/fixtures/") &&
        !/^(#![^\n]*\n)?\/\*\*/.test(readFileSync(join(root, file), "utf8"))
    )
    assert.deepStrictEqual(silent, [])
  })

  it("everything that headgate/policy exports says what it is", () => {
    const silent: Array<string> = []
    let said = 0
    /** Looks at some exports of a file, or at all of them. */
    const look = (file: string, wanted: ReadonlySet<string> | undefined): void => {
      const source = readFileSync(join(root, file), "utf8")
      const text = source.split("\n")
      const passedOn = new Set<string>()
      for (const [, names, spec] of source.matchAll(/^export (?:type )?(\{[^}]*\}|\* as \w+|\*) from "(\.[^"]+)"/gm)) {
        const target = relative(root, resolve(root, dirname(file), spec!))
        const listed = names!.startsWith("{") ? names!.slice(1, -1).split(",") : undefined
        const chosen = listed?.map((name) => name.trim().replace(/^type /, "")).filter((name) => name !== "")
        for (const name of chosen ?? []) passedOn.add(name)
        const here = chosen?.filter((name) => wanted === undefined || wanted.has(name))
        if (here?.length !== 0) look(target, here && new Set(here))
      }
      for (const [index, line] of text.entries()) {
        const name = /^export (?:abstract )?(?:const|class|interface|type|function) (\w+)/.exec(line)?.[1]
        if (name === undefined || passedOn.has(name) || wanted?.has(name) === false) continue
        said++
        const before = text.slice(0, index).findLast((each) => !each.startsWith("// biome-ignore"))
        // The type of a schema is named beside it.
        const isOfSchema = /^export type (\w+) = (?:\(typeof \1\)\["Type"\]|typeof \1\.Type)$/.test(line)
        if (!before?.trimEnd().endsWith("*/") && !isOfSchema) silent.push(`${file}:${index + 1} ${name}`)
      }
    }
    look("src/policy/policy.ts", undefined)
    assert.isAbove(said, 150)
    assert.deepStrictEqual(silent, [])
  })

  it("no file hides behind a name that says nothing", () => {
    const vague = sources.filter((file) => /(^|\/)(utils?|helpers?|common|misc)(\.ts|\/)/.test(file))
    assert.deepStrictEqual(vague, [])
  })
})
