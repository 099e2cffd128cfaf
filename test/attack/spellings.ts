/**
 * Spellings of paths, against backends that each read a path in a way of their own: whatever the client writes, none of
 * them may find a protected file in what the gateway forwards without a credential.
 */
import { posix } from "node:path"
import { Effect, type Scope } from "effect"
import { frameRequest } from "../../src/http/framing.ts"
import type { Paths } from "../../src/http/path.ts"
import type { InvalidConfiguration } from "../../src/main/configuration/snapshot.ts"
import { whole } from "../../src/main/testing/whole.ts"
import type { Breach, Suite } from "./attack.ts"

/** Everything below `/files` is open but `private`; the other ways guard the same by expressions, exact paths and rewriting. */
export const configuration = (port: number, backend: string, paths: Paths = "normalised"): string => `
frontendPolicies: {http: {paths: ${paths}}}
gateways: {default: {port: ${port}}}
routes:
- name: private
  matches: [{path: {pathPrefix: /files/private}}, {path: {pathPrefix: /files/@staff}}, {path: {exact: /files/one:key}}]
  policies: {apiKey: {mode: strict, keys: [{key: secret-key}]}}
  backends: [{host: "${backend}"}]
- name: open
  matches: [{path: {pathPrefix: /files}}]
  backends: [{host: "${backend}"}]
- name: ruled
  matches: [{path: {pathPrefix: /ruled}}]
  policies:
    authorization:
      rules:
      - deny: 'request.path.startsWith("/ruled/private/") || request.path == "/ruled/private"'
      - allow: 'request.path.startsWith("/ruled/")'
  backends: [{host: "${backend}"}]
- name: conditional
  matches: [{path: {pathPrefix: /chosen}}]
  policies:
    directResponse:
      conditional: [{condition: 'request.uri.matches("^http://[^/]*/chosen/private([/?].*)?$")', status: 401}]
  backends: [{host: "${backend}"}]
- name: rewritten
  matches: [{path: {pathPrefix: /rewritten}}]
  policies: {urlRewrite: {path: {prefix: /public/tree}}}
  backends: [{host: "${backend}"}]
`

/** Where files are that nobody gets without a credential, and the only tree that the rewritten route leads to. */
const isProtected = (segments: ReadonlyArray<string>): boolean => {
  const [root, name] = segments
  if (root === "files") return name === "private" || name === "@staff" || (name === "one:key" && segments.length === 2)
  return (root === "ruled" || root === "chosen") && name === "private"
}

const decoded = (text: string): string =>
  text.replace(/%([0-9a-f]{2})/gi, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)))
const withoutParameters = (path: string): string => path.replace(/;[^/]*/g, "")
/** Without dot segments, but with empty ones, which count. */
const resolved = (path: string): string => {
  const kept: Array<string> = []
  for (const segment of path.split("/")) {
    if (segment === "..") kept.pop()
    else if (segment !== ".") kept.push(segment)
  }
  return kept.join("/")
}

/** How backends read what they are sent. */
export const readers: Readonly<Record<string, (path: string) => string>> = {
  "as it is": (path) => path,
  "a URL parser": (path) => new URL(`http://h${path}`).pathname,
  "a URL parser, then decoding": (path) => decoded(new URL(`http://h${path}`).pathname),
  "a file server": (path) => posix.normalize(decoded(path)),
  "decoding, then dot segments, empty ones counted": (path) => resolved(decoded(path)),
  "decoding, up to what may be a query": (path) => posix.normalize(decoded(path).replace(/[?#].*$/s, "")),
  "parameters dropped, then decoding": (path) => posix.normalize(decoded(withoutParameters(path))),
  "decoding, then parameters dropped": (path) => posix.normalize(withoutParameters(decoded(path))),
  "a server on Windows": (path) => posix.normalize(decoded(path).replaceAll("\\", "/")),
  "lenient UTF-8": (path) => posix.normalize(decoded(path.replace(/%c0%af/gi, "/").replace(/%c0%ae/gi, "."))),
  "a C string": (path) => posix.normalize(decoded(path).split("\0", 1)[0]!)
}

/** The readers that find in a forwarded path what its sender must not get, or what lies outside of a rewritten tree. */
export const finders = (forwarded: string): ReadonlyArray<string> => {
  const path = forwarded.split("?", 1)[0]!
  const isRewritten = path.startsWith("/public/tree")
  return Object.entries(readers).flatMap(([name, read]) => {
    const segments = read(path)
      .split("/")
      .filter((segment) => segment !== "")
    const leaves = isRewritten && !(segments[0] === "public" && segments[1] === "tree")
    return isProtected(segments) || leaves ? [`${name}: /${segments.join("/")}`] : []
  })
}

const targets = [
  ...[
    "/files/private/a.txt",
    "/files/private",
    "/files/x/private/a.txt",
    "/files/public/~me/a b.txt",
    "/files/@staff/x"
  ],
  ...[
    "/files/one:key",
    "/files/x/../private/k",
    "/files/x/..",
    "/ruled/private/a",
    "/ruled/open/a",
    "/ruled/x/private"
  ],
  ...["/chosen/private/a", "/chosen/open/a", "/rewritten/a/b", "/rewritten/../files/private", "/rewritten/../../etc"],
  ...["/files/@scope/name", "/ruled/arn:aws:bedrock:x/y", "/files/caf\u00c3\u00a9", "/files/a+b"]
] as const

const slashes = [
  "//",
  "/./",
  "/%2e/",
  "%2f",
  "%2F",
  "%5c",
  "\\",
  "/x/../",
  "/x/%2e%2E/",
  "/x%2f../",
  "/x/..;/",
  ";a/",
  "/;/"
]
const insertions = [
  ...[";a=b", "%3b", "%00", "%3f", "%23", "%20", "%0a", "+", "%2b", "%25", "%zz", "%4", "?", "..", "%c0%af", "%c0%ae"],
  ...["%252f", "%252e", "..%2f", "%2f..", ";%2f", "%3b%2f", "%2f%2f", ".", "~", "%7E"]
]

/** Draws paths by spelling real ones anew, in a few places at a time. The same seed draws the same ones. */
export const spellings = (seed: number): (() => string) => {
  let state = seed | 0
  const below = (bound: number): number => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) % bound
  }
  const pick = (list: ReadonlyArray<string>): string => list[below(list.length)]!
  const encoded = (character: string): string => {
    const hex = character.charCodeAt(0).toString(16).padStart(2, "0")
    return `%${below(2) === 0 ? hex : hex.toUpperCase()}`
  }
  return () => {
    let path = pick(targets).replaceAll(" ", "%20")
    for (let changes = below(6); changes > 0; changes--) {
      const at = 1 + below(path.length - 1)
      const before = path.slice(0, at)
      const character = path[at]!
      const after = path.slice(at + 1)
      const kind = below(8)
      if (character === "/" && kind < 6) path = before + pick(slashes) + after
      else if (kind < 6) path = before + encoded(character) + after
      else path = before + pick(insertions) + character + after
    }
    return path
  }
}

/** Ways to a protected file by its spelling alone, with the answer of each. */
export const attempts: Readonly<Record<string, number>> = {
  "/files/%70rivate/a": 401,
  "/files//private/a": 401,
  "/files/./private/a": 401,
  "/files/%2e/private/a": 401,
  "/files/x/../private/a": 401,
  "/files/x/%2e%2e/private/a": 401,
  "/files/x%2f..%2fprivate/a": 400,
  "/files%2fprivate/a": 400,
  "/files/private%2fa": 400,
  "/files/private;x/a": 400,
  "/files/private%3Fa": 400,
  "/files/%40staff/x": 400,
  "/files/one%3Akey": 400,
  "/files/x/..;/private": 400,
  "/files/;%2fx/private/a": 400,
  "/files/a%3f%2f..%2fprivate": 400,
  "/files/%c0%af/private": 400,
  "/files\\private": 400,
  "/files/%5cprivate": 400,
  "/files/%00": 400,
  "/files/%zz": 400,
  "/ruled//private/a": 403,
  "/ruled/%70rivate/a": 403,
  "/ruled/private%2Fa": 400,
  "/ruled/private;x/a": 400,
  "/chosen/%70rivate": 401,
  "/chosen/private%2Fa": 400,
  "/rewritten/../../etc/passwd": 404,
  "/rewritten/..%2f..%2fetc/passwd": 400,
  "/rewritten/..;/..;/etc/passwd": 400
}

export const get = (path: string) =>
  ({ method: "GET", scheme: "http", authority: "h", path, headers: [], body: undefined, prefix: undefined }) as const

export interface SpellingReport {
  /** How many were forwarded, refused for their spelling, and kept away for want of a credential. */
  readonly forwarded: number
  readonly refused: number
  readonly denied: number
  readonly breaches: ReadonlyArray<Breach>
}

/** Sends so many spellings through a gateway in memory, all without a credential. */
export const trySpellings = (
  count: number,
  seed: number,
  paths: Paths = "normalised"
): Effect.Effect<SpellingReport, InvalidConfiguration, Scope.Scope> =>
  Effect.gen(function* () {
    const { world, send } = yield* whole(configuration(80, "backend.example:80", paths))
    const draw = spellings(seed)
    const report = { forwarded: 0, refused: 0, denied: 0, breaches: [] as Array<Breach> }
    for (let i = 0; i < count; i++) {
      const path = draw()
      const framed = frameRequest("GET", path, "1.1", ["host", "h"], "http", paths)
      const { status, received, defects } = yield* send(get(path), { watched: false })
      world.received.length = 0
      const fail = (reason: string) => report.breaches.push({ title: path, reason })
      if (defects.length > 0) fail(String(defects[0]))
      if (framed._tag === "Malformed" && status !== 400) fail("the edge would have refused it")
      if (received !== undefined) {
        report.forwarded++
        for (const finder of finders(received.path)) fail(`${received.path} to ${finder}`)
      } else if (status === 400) report.refused++
      else if (status === 401 || status === 403 || status === 404) report.denied++
      else fail(`answered with ${status}`)
    }
    return report
  })

/** Ordinary paths, and what of each arrives. */
export const ordinary: Readonly<Record<string, string>> = {
  "/files/a.txt": "/files/a.txt",
  "/files/": "/files/",
  "/files/a%20b/caf%C3%A9+x/~me": "/files/a%20b/caf%C3%A9+x/~me",
  "/files/%7Eme/a%2Bb%26c": "/files/~me/a%2Bb%26c",
  "/files/@scope%2Fname": "/files/@scope%2Fname",
  "/files/%40scope%2fname": "/files/%40scope%2Fname",
  "/files/arn%3Aaws%3Abedrock%3Aeu-west-1%3A123%3Ainference-profile%2Fx.y-v1%3A0/converse":
    "/files/arn%3Aaws%3Abedrock%3Aeu-west-1%3A123%3Ainference-profile%2Fx.y-v1%3A0/converse",
  "/files/https%3A%2F%2Fexample.com%2Fa%3Fb": "/files/https%3A%2F%2Fexample.com%2Fa%3Fb",
  "/files/a;v=1/b": "/files/a;v=1/b",
  "/files/100%25?q=%2f..//%zz": "/files/100%25?q=%2f..//%zz",
  "/ruled/a%2Fb": "/ruled/a%2Fb",
  "/chosen/a%2Fb": "/chosen/a%2Fb",
  "/rewritten/a%2Fb/c%20d": "/public/tree/a%2Fb/c%20d",
  "/rewritten": "/public/tree",
  "/rewritten//host/x": "/public/tree/host/x"
}

/** All of it as one suite. */
export const pathSpellings: Suite = {
  class: "header and path spelling",
  name: "paths",
  proves:
    "no spelling of a path leads any kind of backend to a protected file without its credential, and ordinary paths arrive",
  titles: [...Object.keys(attempts), ...Object.keys(ordinary)],
  few: 200_000,
  many: 1_000_000,
  run: (count, seed) =>
    Effect.gen(function* () {
      const begun = performance.now()
      const { send } = yield* whole(configuration(80, "backend.example:80"))
      const breaches: Array<Breach> = []
      for (const [path, expected] of Object.entries(attempts)) {
        const { status } = yield* send(get(path))
        if (status !== expected) breaches.push({ title: path, reason: `answered with ${status}, not ${expected}` })
      }
      for (const [path, expected] of Object.entries(ordinary)) {
        const { received } = yield* send(get(path))
        if (received?.path !== expected) breaches.push({ title: path, reason: `arrived as ${received?.path}` })
      }
      const drawn = yield* trySpellings(count, seed)
      breaches.push(...drawn.breaches)
      // Neither all nor nothing is let through.
      for (const what of ["forwarded", "refused", "denied"] as const)
        if (drawn[what] < count / 10) breaches.push({ title: what, reason: `only ${drawn[what]} of ${count}` })
      const cases = Object.keys(attempts).length + Object.keys(ordinary).length
      return { cases, generated: count, breaches, seconds: (performance.now() - begun) / 1000 }
    }).pipe(Effect.scoped, Effect.orDie)
}
