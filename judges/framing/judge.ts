/**
 * Every form of a request that is attacked with in `test/attack`, before nginx, HAProxy, Apache and Caddy: alone, as oracles of
 * what is to be refused, and behind the gateway, where each must understand what the gateway understood.
 *
 * Then spellings of paths, before files that nginx serves. Records the verdicts in `verdicts.json`, which `npm test` replays.
 */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { dirname, join } from "node:path"
import { Effect, Exit, Scope } from "effect"
import { start } from "../../src/main/library.ts"
import { canary, forms, requestFormsTo } from "../../test/attack/request-forms.ts"
import { configuration as pathConfiguration, spellings } from "../../test/attack/spellings.ts"
import { type StrictOrigin, shown, strictOrigin } from "../../test/attack/strict-origin.ts"
import { parseResponses, RawClient } from "../../test/http/raw-client.ts"
import { install } from "../debian.ts"
import { packages, type Server, serverNames, startFileServer, startServer } from "./servers.ts"
import { difference, differences, digest, type Verdict, verdictsFile } from "./verdicts.ts"

/** How long a server may wait for more before it counts as no answer, in milliseconds. */
const patience = 700

const judged = async ({ port }: Server, origin: StrictOrigin, send: string): Promise<Verdict> => {
  origin.received.length = 0
  origin.violations.length = 0
  const client = new RawClient(port).send(send)
  await client.until(({ ended, closed }) => ended || closed, patience).catch(() => {})
  client.socket.destroy()
  const asked = origin.received.map(shown)
  const answers = parseResponses(
    client.received,
    asked.map((request) => request.slice(0, request.indexOf(" ")))
  )
  const refusal = answers.filter(({ status }) => status >= 200).find(({ status }) => status >= 400)
  const whole = refusal === undefined && origin.violations.length === 0 && asked.at(-1) === "GET /canary"
  return {
    asked: [...asked, ...[...new Set(origin.violations)].map((violation) => `violation: ${violation}`)],
    ...(whole ? {} : { refused: refusal?.status ?? 0 })
  }
}

/** How many spellings of paths are tried on each. */
const spelled = 3_000

const secret = "not for everybody"
/** What lies behind the gateway, as its configuration for spellings protects it. */
const files = {
  "files/private/a.txt": secret,
  "files/private/k": secret,
  "files/private/index.html": secret,
  "files/@staff/x": secret,
  "files/one:key": secret,
  "ruled/private/a": secret,
  "chosen/private/a": secret,
  "etc/passwd": secret,
  "files/public/~me/a b.txt": "open",
  "files/x/private/a.txt": "open",
  "files/a+b": "open",
  "ruled/open/a": "open",
  "ruled/x/private": "open",
  "chosen/open/a": "open",
  "public/tree/a/b": "open"
}

let passed = 0
const failures: Array<string> = []
const holds = (what: string, held: boolean) => {
  if (held) passed++
  else failures.push(what)
}

install(...packages)
const scope = await Effect.runPromise(Scope.make())
const open = <A>(effect: Effect.Effect<A, unknown, Scope.Scope>): Promise<A> =>
  Effect.runPromise(Effect.orDie(Scope.provide(effect, scope)))

const all: Record<string, { digest: string; verdicts: Record<string, Verdict> }> = {}
for (const form of forms) all[form.title] = { digest: digest(form), verdicts: {} }
const versions: Record<string, string> = {}

for (const name of serverNames) {
  const origin = await open(strictOrigin)
  await using server = await startServer(name, origin.port)
  versions[name] = server.version
  for (const form of forms)
    all[form.title]!.verdicts[name] = await judged(server, origin, form.cut ? form.send : form.send + canary)

  // The same through the gateway: what comes out behind both is what the gateway alone would have let through, or less.
  const trial = await open(requestFormsTo({ ...origin, port: server.port }))
  let refused = 0
  for (const form of forms) {
    const exit = await Effect.runPromise(Effect.exit(Effect.scoped(trial({ ...form, cuts: [] }))))
    if (Exit.isSuccess(exit)) {
      passed++
      continue
    }
    const asked = origin.received.map(shown)
    const expected = [...(form.reaches ?? []), "GET /canary"]
    // The server behind may refuse what the gateway takes, as long as it takes nothing else for it.
    const less = asked.every((request) => expected.includes(request)) && asked.length <= expected.length
    if (less && origin.violations.length === 0) refused++
    holds(
      `${form.title}, through the gateway to ${name}: ${asked}; ${exit.cause}`,
      less && origin.violations.length === 0
    )
  }
  console.log(
    `${name} ${server.version}: ${forms.length} forms alone and behind the gateway, ${refused} refused there by it alone`
  )
}

// Paths: nginx finds files by them, alone and behind HAProxy, and must find none that the gateway protects.
const root = mkdtempSync(join(tmpdir(), "headgate-judge-files-"))
for (const [file, text] of Object.entries(files)) {
  mkdirSync(dirname(join(root, file)), { recursive: true })
  writeFileSync(join(root, file), text)
}
{
  await using server = await startFileServer(root)
  await using between = await startServer("haproxy", server.port)
  for (const { name, port } of [server, between]) {
    const { port: gate } = await open(
      Effect.map(
        start(pathConfiguration(80, `127.0.0.1:${port}`), { ephemeral: true, host: "127.0.0.1" }),
        (gateway) => ({
          port: gateway.port(80)!
        })
      )
    )
    const draw = spellings(1)
    const counts = { found: 0, refused: 0 }
    for (let i = 0; i < spelled; i++) {
      const path = draw()
      const client = new RawClient(gate).send(`GET ${path} HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n`)
      const received = await client.toEnd()
      if (received.startsWith("HTTP/1.1 200 ")) counts.found++
      else if (/^HTTP\/1\.1 40[013] /.test(received)) counts.refused++
      holds(`${path} shows a protected file behind ${name}`, !received.includes(secret))
    }
    // Neither all nor nothing is let through.
    holds(`files are found behind ${name}: ${JSON.stringify(counts)}`, counts.found > 50 && counts.refused > 500)
    console.log(`${spelled} paths to nginx${name === "nginx" ? "" : ` behind ${name}`}: ${JSON.stringify(counts)}`)
  }
}
rmSync(root, { recursive: true })

for (const form of forms) {
  const kind = difference(form, all[form.title]!.verdicts)
  holds(
    `we are ${kind} than all of them, for no reason: ${form.title}`,
    kind === undefined || form.title in differences
  )
}
for (const title of Object.keys(differences)) {
  const form = forms.find((form) => form.title === title)
  holds(`no difference any more: ${title}`, form !== undefined && difference(form, all[title]!.verdicts) !== undefined)
}

const lines = Object.entries(all).map(([title, judged]) => `    ${JSON.stringify(title)}: ${JSON.stringify(judged)}`)
writeFileSync(
  verdictsFile,
  `{\n  "versions": ${JSON.stringify(versions)},\n  "forms": {\n${lines.join(",\n")}\n  }\n}\n`
)
await Effect.runPromise(Scope.close(scope, Exit.void))
for (const failure of failures) console.log(`FAILED ${failure}`)
console.log(`${passed} passed, ${failures.length} failed`)
process.exit(failures.length === 0 ? 0 : 1)
