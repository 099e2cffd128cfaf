/**
 * Configuration as code: files that want to be more than data. What a file says is what it configures; reading it runs
 * nothing, reads nothing, asks for nothing and ends soon, and whatever is wrong is told with its place.
 */
import { Effect, Result } from "effect"
import { graphsOf } from "../../src/main/configuration/offline.ts"
import { type AttackCase, attack, type Trial } from "./attack.ts"

interface FileCase extends AttackCase {
  readonly text: string
  readonly env?: Readonly<Record<string, string>>
  /** What every message is made of that comes of it; none: the file is valid and means what it says. */
  readonly told?: RegExp
}

const listening = "gateways: { default: { port: 8080 } }\n"
const answering = (value: string) =>
  `${listening}routes:\n- policies:\n    directResponse:\n      status: 200\n      body: ${value}\n`
const headerSet = (entry: string) =>
  `${listening}routes: [{ policies: { requestHeaderModifier: { set: { ${entry} } } } }]`

const bomb = (levels: number, width: number) =>
  [
    "a0: &a0 [x]",
    ...Array.from(
      { length: levels },
      (_, level) => `a${level + 1}: &a${level + 1} [${Array(width).fill(`*a${level}`).join(", ")}]`
    )
  ].join("\n")

const cases: ReadonlyArray<FileCase> = [
  ...[
    "!!js/function 'function () { globalThis.pwned = 1 }'",
    "!!js/regexp /(a+)+$/",
    "!!js/undefined ''",
    "!!python/object/apply:os.system ['touch /tmp/pwned']",
    "!!java.net.URL ['http://127.0.0.1:1/']",
    "!ruby/object:Gem::Installer {}",
    "!!binary aGk=",
    "!!timestamp 2026-01-01",
    "!!set { a }",
    "!!omap [a: 1]",
    "!include /etc/passwd",
    "!env HOME",
    "!Ref a",
    "!<tag:example.com,2026:x> a"
  ].map((value) => ({
    title: `the tag ${value.split(" ")[0]}`,
    text: answering(value),
    told: /tag|kind of value|expected|indentation/
  })),
  {
    title: "a directive that names a tag",
    text: `%TAG ! tag:example.com,2026:\n---\n${answering("!x a")}`,
    told: /tag|directive/
  },
  { title: "a directive that nobody knows", text: `%RUN touch /tmp/pwned\n---\n${answering("a")}`, told: /directive/ },
  { title: "a version that there is not", text: `%YAML 9.9\n---\n${answering("a")}`, told: /./ },
  {
    title: "aliases that double forty times",
    text: `${bomb(40, 2)}\n${listening}`,
    told: /more than .* values|unknown key/
  },
  { title: "aliases by ten, nine times", text: `${bomb(9, 10)}\n${listening}`, told: /more than .* values/ },
  { title: "an alias inside its own anchor", text: "gateways: &g { default: *g }", told: /alias/ },
  { title: "an alias before its anchor", text: "gateways: *g\nroutes: &g []", told: /alias/ },
  { title: "an alias of nothing", text: "gateways: *g", told: /alias/ },
  { title: "an alias as a key", text: `x: &x routes\n*x : []\n${listening}`, told: /unknown key/ },
  {
    title: "an anchor that is set twice",
    text: `routes:\n- &r { name: a, policies: { directResponse: { status: 200 } } }\n- &r { name: b, policies: { directResponse: { status: 201 } } }\n${listening}`
  },
  {
    title: "a merge key",
    text: `routes:\n- &r { name: a, policies: { directResponse: { status: 200 } } }\n- { <<: *r, name: b }\n${listening}`,
    told: /merge keys/
  },
  { title: "a merge of a list", text: "a: &a {}\ngateways: { <<: [*a, *a] }", told: /merge keys|unknown key/ },
  { title: "a second document", text: `${answering("a")}---\nconfig: {}\n`, told: /one document/ },
  { title: "a document after its end", text: `${answering("a")}...\nconfig: {}\n`, told: /./ },
  { title: "a list as a key", text: "? [a, b]\n: c\n", told: /key must be a string/ },
  { title: "an object as a key", text: "? { a: b }\n: c\n", told: /key must be a string/ },
  { title: "null as a key", text: "~: c\n", told: /key must be a string/ },
  { title: "__proto__ as a key", text: '"__proto__": { polluted: true }\n', told: /not allowed/ },
  { title: "__proto__ with escapes", text: '"\\u005f_proto__": { polluted: true }\n', told: /not allowed/ },
  {
    title: "__proto__ deep inside",
    text: `${listening}routes: [{ policies: { apiKey: { keys: [{ key: a, metadata: { "__proto__": { polluted: true } } }] } } }]`,
    told: /not allowed/
  },
  { title: "constructor as a key", text: "constructor: { prototype: { polluted: true } }\n", told: /unknown key/ },
  {
    title: "toString as a route's policy",
    text: `${listening}routes: [{ policies: { toString: {} } }]`,
    told: /unknown key/
  },
  {
    title: "constructor in free data",
    text: `${listening}routes: [{ policies: { apiKey: { keys: [{ key: a, metadata: { constructor: { prototype: { polluted: true } }, toString: 1 } }] }, directResponse: { status: 200 } } }]`
  },
  {
    title: "constructor as the name of a backend",
    text: `${listening}backends: [{ name: constructor, host: "127.0.0.1:1" }]\nroutes: [{ backends: [{ backend: /toString }] }]`
  },
  { title: "a depth of 100,000", text: `routes: ${"[".repeat(100_000)}`, told: /nested|bracket/ },
  {
    title: "a depth of blocks",
    text: Array.from({ length: 3_000 }, (_, depth) => `${" ".repeat(depth)}a:`).join("\n"),
    told: /nested|deep/
  },
  { title: "a key of a megabyte", text: `${"k".repeat(1 << 20)}: a\n`, told: /key/ },
  { title: "a number that is none", text: "gateways: { default: { port: .nan } }", told: /finite/ },
  { title: "a number without end", text: "gateways: { default: { port: 1e999 } }", told: /finite|expected/ },
  { title: "a shell command in a value", text: answering("$(touch /tmp/pwned)") },
  { title: "backticks in a value", text: answering('"`touch /tmp/pwned`"') },
  { title: "a template in a value", text: answering('"{{ env.HOME }} #{1+1} <%= 1 %>"') },
  { title: "a reference that is not closed", text: answering(`\${HOME`), told: /brace/ },
  { title: "a reference with a command", text: answering(`\${HOME:+x}`), told: /variable name/ },
  { title: "a reference to what every object has", text: answering("$constructor"), told: /not set/ },
  { title: "a reference to a prototype", text: answering(`\${__proto__}`), told: /not set/ },
  { title: "a variable that holds YAML", text: answering("$X"), env: { X: "a\n  evil: { b: c }" }, told: /./ },
  {
    title: "a variable that holds a list's end",
    text: `${listening}routes: [{ name: $X }]`,
    env: { X: "a }], config: { adminAddr: '0.0.0.0:1' }, x: [{ a: b" },
    told: /./
  },
  { title: "a variable that holds a reference", text: answering("'$X'"), env: { X: "$HOME", HOME: "/secret" } },
  { title: "a variable in a comment", text: `# $NOWHERE\n${answering("a")}`, told: /not set/ },
  { title: "a variable as a key", text: headerSet("$X: a"), env: { X: "x-a" } },
  { title: "a variable in a default", text: answering(`\${X:-\${Y}}`) },
  {
    title: "an expression that calls what JavaScript has",
    text: `${listening}routes: [{ policies: { authorization: { rules: ["constructor.constructor('return process')().exit()"] } } }]`,
    told: /expression/
  },
  {
    title: "an expression that reads a file",
    text: `${listening}routes: [{ policies: { authorization: { rules: ["file('/etc/passwd') != ''"] } } }]`,
    told: /expression/
  },
  {
    title: "a key set from a device",
    text: `${listening}routes: [{ policies: { jwtAuth: { issuer: a, jwks: { file: [/dev/zero] } } } }]`,
    told: /./
  },
  { title: "bytes that are no text", text: `gateways: \0\ufffe\ufeff`, told: /./ },
  { title: "a byte order mark", text: `\ufeff${answering("a")}` },
  { title: "a tab for an indentation", text: "gateways:\n\tdefault: {}\n", told: /tab|spaces/ }
]

const untouched = () =>
  Object.keys(Object.prototype).length === 0 &&
  !("polluted" in {}) &&
  !("pwned" in globalThis) &&
  Object.keys(Function.prototype).length === 0

const trial: Trial<FileCase> = ({ text, env = {}, told }) =>
  Effect.gen(function* () {
    const began = performance.now()
    // Its expressions and patterns are compiled, too.
    const compiled = yield* Effect.result(graphsOf({ name: "config.yaml", text, env }))
    const took = performance.now() - began
    const found = Result.isFailure(compiled) ? compiled.failure.problems : []
    const messages = found.map(({ line, message }) => `${line}: ${message}`).join("; ")
    const broken = (detail: string) => Effect.fail(new Error(detail))
    if (!untouched()) return yield* broken("the file has changed what every object has")
    if (took > 5_000) return yield* broken(`it took ${Math.round(took)} ms`)
    if (told === undefined && Result.isFailure(compiled)) return yield* broken(`it is refused: ${messages}`)
    if (told !== undefined && Result.isSuccess(compiled)) return yield* broken("it is taken")
    if (told !== undefined && !found.some(({ message }) => told.test(message)))
      return yield* broken(`it is refused otherwise: ${messages}`)
    if (found.some(({ line }) => !(line >= 1))) return yield* broken(`a problem without a place: ${messages}`)
  })

export const configurationAsCode = attack<FileCase>({
  class: "configuration as code",
  name: "files that want to be more than data",
  proves: "reading a configuration runs nothing, changes nothing beside it, and ends soon",
  cases,
  open: Effect.succeed(trial)
})
