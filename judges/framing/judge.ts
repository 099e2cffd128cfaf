/**
 * Every form of a request that is attacked with in `test/attack`, before nginx, HAProxy, Apache, Caddy and Node: alone, as oracles of
 * what is to be refused, and behind the gateway, where each must understand what the gateway understood.
 *
 * Records the verdicts in `verdicts.json`, which `npm test` replays.
 */
import { writeFileSync } from "node:fs"
import { setTimeout } from "node:timers/promises"
import { Effect, Exit, Scope } from "effect"
import { canary, forms, requestFormsTo } from "../../test/attack/request-forms.ts"
import { type StrictOrigin, shown, strictOrigin } from "../../test/attack/strict-origin.ts"
import { parseResponses, RawClient } from "../../test/http/raw-client.ts"
import { install } from "../debian.ts"
import { packages, type Server, serverNames, startServer } from "./servers.ts"
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

  // What was given up on may still be on its way to the origin.
  await setTimeout(patience)
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
