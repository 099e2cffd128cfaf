/** Laws that hold for every policy. A new policy is covered by being in the registry. */
import { globSync } from "node:fs"
import { basename, dirname, join, resolve } from "node:path"
import { describe, it } from "@effect/vitest"
import { HeaderList } from "../src/http/header-list.ts"
import { type Example, policyLaws, type Request, registryLaws } from "../src/main/testing.ts"
import { policies } from "../stages/registry.ts"
import { type Case, type CaseRequest, readCase } from "./case.ts"

const root = resolve(import.meta.dirname, "..")
const camel = (kebab: string) => kebab.replace(/-([a-z])/g, (_, letter: string) => letter.toUpperCase())

const textOf = (body: unknown) => (typeof body === "string" ? body : JSON.stringify(body))

const asked = ({ method, path = "/", scheme = "http", host = "example.com", headers = {}, body }: CaseRequest) =>
  ({
    method: method ?? (body === undefined ? "GET" : "POST"),
    scheme,
    authority: host,
    path,
    headers: Object.entries(headers).flatMap(([name, value]) => [value].flat().map((line) => [name, line] as const)),
    body: body === undefined ? undefined : { chunks: [textOf(body)], streamed: false },
    prefix: "/"
  }) satisfies Request

/** The cases of the policies, as configurations and requests that generation hardly meets. */
const examples = new Map<string, Array<Example>>()
for (const file of globSync("stages/*/cases/*.yaml", { cwd: root }).toSorted()) {
  const { config, site, request, steps, outside, rejects } = readCase(join(root, file))
  if (rejects !== undefined) continue
  const name = camel(basename(dirname(dirname(file))))
  const requests = (steps ?? [{ request }]).map((step) => asked(step.request ?? {}))
  const answers: NonNullable<Case["outside"]> = Object.assign({}, outside, ...(steps ?? []).map((step) => step.outside))
  const answering: Example["outside"] = ({ method, url }) => {
    const answer = answers[`${method} ${url}`]
    if (answer === undefined || "fails" in answer) return answer
    return { status: answer.status ?? 200, headers: new HeaderList(), body: Buffer.from(textOf(answer.body ?? "")) }
  }
  examples.set(name, [...(examples.get(name) ?? []), { config, site, requests, outside: answering }])
}

describe("laws", () => {
  for (const policy of policies.policies)
    describe(policy.name, () => {
      for (const { name, check } of policyLaws(policy, { examples: examples.get(policy.name), runs: 30 }))
        it.effect(name, () => check)
    })
  describe("all policies together", () => {
    for (const { name, check } of registryLaws(policies, { runs: 30 })) it.effect(name, () => check)
  })
})
