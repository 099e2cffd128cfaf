/** `headgate import`: what a file of LiteLLM becomes, and that what is written is always served. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterAll, assert, describe, it } from "@effect/vitest"
import { Arbitrary, Effect, Schema } from "effect"
import { stringify } from "yaml"
import { formatPath, type Path } from "../spec/config/path.ts"
import { formatText } from "../spec/config/problem.ts"
import { write } from "../spec/config/write.ts"
import { findings } from "../src/main/configuration/findings.ts"
import { verdicts } from "../src/main/ctl/finding.ts"
import { fromLitellm } from "../src/main/import/litellm.ts"
import { commanded } from "./tool.ts"

const folder = mkdtempSync(join(tmpdir(), "headgate-import-"))
afterAll(() => rmSync(folder, { recursive: true }))

const run = (...args: ReadonlyArray<string>) => commanded(() => Effect.die("nothing is served"), "import", ...args)

const example = `
model_list:
  - model_name: gpt-4o
    litellm_params: { model: azure/my-deployment, api_base: "https://acme.openai.azure.com/", api_key: os.environ/AZURE_API_KEY, rpm: 6 }
  - model_name: gpt-4o
    litellm_params: { model: gpt-4o, api_key: sk-in-the-file, temperature: 0.2, weight: 3 }
  - model_name: claude
    litellm_params: { model: anthropic/claude-sonnet-4-5 }
  - model_name: "*"
    litellm_params: { model: "openai/*" }
router_settings:
  routing_strategy: latency-based-routing
  num_retries: 2
  fallbacks: [{ gpt-4o: [claude] }]
  model_group_alias: { four: gpt-4o }
general_settings: { master_key: sk-master }
litellm_settings: { drop_params: true, callbacks: [langfuse] }
`

describe("headgate import --from litellm", () => {
  it.effect("writes a file that is served, and tells what became of each thing", () =>
    Effect.gen(function* () {
      const [from, to] = [join(folder, "litellm.yaml"), join(folder, "config.yaml")]
      writeFileSync(from, example)
      const { code, err } = yield* run("--from", "litellm", "-f", from, "-o", to)
      assert.strictEqual(code, 0, err.join("\n"))
      const text = readFileSync(to, "utf8")
      assert.strictEqual(
        text,
        `# yaml-language-server: $schema=http://localhost:15000/config.schema.json
# Made by headgate import from a file of LiteLLM.
config:
  statsAddr: localhost:15020
  readinessAddr: localhost:15021
gateways:
  default:
    port: 4000
llm:
  models:
    - name: gpt-4o/1
      visibility: internal
      provider: azure
      params:
        model: my-deployment
        azureResourceName: acme
        azureResourceType: openAI
        apiKey: $AZURE_API_KEY
      health:
        eviction:
          duration: 5s
    - name: gpt-4o/2
      visibility: internal
      provider: openai
      params:
        model: gpt-4o
        apiKey: $GPT_4O_API_KEY
      defaults:
        temperature: 0.2
      health:
        eviction:
          duration: 5s
    - name: claude
      provider: anthropic
      params:
        model: claude-sonnet-4-5
        apiKey: $ANTHROPIC_API_KEY
      health:
        eviction:
          duration: 5s
    - name: "*"
      provider: openai
      params:
        apiKey: $OPENAI_API_KEY
      health:
        eviction:
          duration: 5s
  virtualModels:
    - name: gpt-4o
      routing:
        failover:
          targets:
            - model: gpt-4o/1
              priority: 0
            - model: gpt-4o/2
              priority: 0
            - model: claude
              priority: 1
    - name: four
      routing:
        weighted:
          targets:
            - model: gpt-4o/1
              weight: 1
            - model: gpt-4o/2
              weight: 3
  policies:
    apiKey:
      mode: strict
      keys:
        - key: $LITELLM_MASTER_KEY
          metadata:
            user: master
policies:
  - name:
      name: retries
      namespace: default
    target:
      route:
        name: llm:request
        namespace: internal
    policy:
      retry:
        attempts: 2
        codes:
          - 408
          - 429
          - 500
          - 502
          - 503
          - 504
`
      )
      const told = err.join("\n")
      for (const line of [
        "exact: model_list[0].litellm_params.api_base: the resource acme",
        "unsupported: model_list[0].litellm_params.rpm: limits of one deployment are not there yet; llm.policies.localRateLimit limits all models",
        "manual: model_list[1].litellm_params.api_key: a file holds no credential: put it in the variable GPT_4O_API_KEY",
        "approximate: router_settings.routing_strategy: targets are drawn by weight, not by latency",
        "approximate: router_settings.num_retries: the policy retry: further tries, also of a fallback, after a failed call and the statuses 408, 429, 500, 502, 503, 504",
        "manual: general_settings.master_key: a file holds no credential: put it in the variable LITELLM_MASTER_KEY"
      ])
        assert.include(told, `${line}\n`)
      assert.notMatch(told + text, /sk-in-the-file|sk-master/)
      assert.deepStrictEqual(
        (yield* run("--from", "litellm", "-f", from, "-o", to)).err.at(-1),
        `${to} is there already: --force writes over it`
      )
    })
  )

  it.effect.each([
    ["model_list: [", /no YAML/],
    ["[]", /no model of .* can be taken over/],
    ["gateways: {}", /unsupported: gateways: there is nothing for it\n[\s\S]*no model of .* can be taken over/],
    [
      "model_list: [{ model_name: a, litellm_params: { model: nobody/x } }]",
      /its provider is not known here: the model is left out/
    ]
  ] as const)("writes nothing for %j", ([text, told]) =>
    Effect.gen(function* () {
      const from = join(folder, "strange.yaml")
      writeFileSync(from, text)
      const { code, out, err } = yield* run("--from", "litellm", "-f", from)
      assert.deepStrictEqual({ code, out }, { code: 1, out: [] })
      assert.match(err.join("\n"), told)
    })
  )
})

const oneOf = <const A extends ReadonlyArray<unknown>>(...values: A): Arbitrary.Arbitrary<A[number]> =>
  Arbitrary.map(
    Arbitrary.schema(Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: values.length - 1 }))),
    (index) => values[index]
  )

const names = [
  "gpt-4o",
  "gpt-4o",
  "gpt-4o",
  "claude",
  "claude",
  "chat",
  "fast",
  "a b",
  "*",
  "gpt-*",
  "x/y",
  "$HOME",
  "~/x",
  "gpt-4o/1",
  "",
  7,
  "é"
] as const
const key = oneOf(undefined, "os.environ/SOME_KEY", "sk-literal-key", "os.environ/not a name", 5, "$HOME")
const params = Arbitrary.all({
  model: oneOf(
    "gpt-4o",
    "gpt-4o",
    "openai/gpt-4o",
    "openai/gpt-4o-mini",
    "anthropic/claude-sonnet-4-5",
    "groq/llama-3",
    "mistral/small",
    "deepseek/chat",
    "openai/gpt-4o",
    "openai/*",
    "anthropic/*",
    "anthropic/claude",
    "azure/d",
    "bedrock/m",
    "vertex_ai/g",
    "gemini/g",
    "gemini-pro",
    "groq/llama",
    "ollama/x",
    "hosted_vllm/x",
    "github_copilot/x",
    "nobody/x",
    "unknown",
    "",
    3,
    "openai/$HOME",
    "mistral/a: b"
  ),
  api_key: key,
  api_base: oneOf(
    undefined,
    undefined,
    undefined,
    undefined,
    "http://localhost:8000/v1",
    undefined,
    "http://localhost:8000/v1",
    "https://host.example",
    "os.environ/SOME_BASE",
    "https://acme.openai.azure.com/",
    "ftp://x",
    "http://u:p@h/",
    "http://h/?q=1",
    "not a url",
    "http://h/a b",
    9
  ),
  api_version: oneOf(undefined, "2025-01-01", "os.environ/SOME_VERSION"),
  aws_region_name: oneOf(undefined, "eu-west-1", "os.environ/SOME_REGION"),
  vertex_project: oneOf(undefined, "p", "os.environ/SOME_PROJECT"),
  vertex_location: oneOf(undefined, "europe-west4", 5),
  custom_llm_provider: oneOf(undefined, undefined, undefined, "openai", "nobody"),
  weight: oneOf(undefined, 1, 3, 0, -1, "2"),
  order: oneOf(undefined, undefined, 1, 2, "x"),
  temperature: oneOf(undefined, 0.2, null, "os.environ/T"),
  rpm: oneOf(undefined, 10),
  made_up: oneOf(undefined, { a: [1] })
})
const entry = Arbitrary.all({
  model_name: oneOf(...names),
  litellm_params: params,
  model_info: oneOf(undefined, { id: "x", mode: "chat" })
})
const reference = Arbitrary.array(oneOf("gpt-4o", "claude", "x/y", "nobody", "*"), { maxLength: 3 })
const file = Arbitrary.all({
  model_list: Arbitrary.array(entry, { minLength: 2, maxLength: 6 }),
  router_settings: Arbitrary.all({
    routing_strategy: oneOf(undefined, "simple-shuffle", "latency-based-routing", "odd"),
    fallbacks: Arbitrary.map(
      Arbitrary.all({ from: oneOf("gpt-4o", "claude", "nobody"), to: reference, odd: oneOf(false, false, true) }),
      ({ from, to, odd }) => (odd ? "odd" : [{ [from]: to }])
    ),
    model_group_alias: Arbitrary.map(
      Arbitrary.all({
        name: oneOf("four", "gpt-4o", "*", "a b"),
        to: oneOf("gpt-4o", "claude", "nobody", { model: "gpt-4o", hidden: true })
      }),
      ({ name, to }) => ({ [name]: to })
    ),
    num_retries: oneOf(undefined, 2),
    cooldown_time: oneOf(undefined, 30, "x"),
    allowed_fails: oneOf(undefined, 3)
  }),
  general_settings: Arbitrary.all({ master_key: key, database_url: oneOf(undefined, "postgres://x") }),
  litellm_settings: Arbitrary.all({
    drop_params: oneOf(undefined, true),
    json_logs: oneOf(undefined, true, false),
    set_verbose: oneOf(undefined, true),
    num_retries: oneOf(undefined, 3, 1000, "x"),
    default_fallbacks: oneOf(undefined, ["claude"]),
    fallbacks: oneOf(undefined, [{ claude: ["gpt-4o"] }])
  }),
  environment_variables: oneOf(undefined, { A: "secret-value" }),
  odd_section: oneOf(undefined, { a: 1 })
})

/** The things of a file that must be spoken of. */
const things = (value: unknown, path: Path = []): ReadonlyArray<Path> => {
  if (Array.isArray(value) && path[0] === "model_list" && path.length === 1)
    return value.flatMap((each, index) => things(each, [...path, index]))
  const isDeep = path.length < 2 || (path[0] === "model_list" && path.length < 4)
  const isSection = path.length !== 1 || /_settings$|^model_list$|^environment_variables$/.test(String(path[0]))
  if (typeof value !== "object" || value === null || Array.isArray(value) || !isDeep || !isSection) return [path]
  if (path.at(-1) === "model_group_alias") return []
  return Object.entries(value).flatMap(([name, each]) => things(each, [...path, name]))
}

const withoutUndefined = (value: unknown): unknown => JSON.parse(JSON.stringify(value))

describe("whatever a file of LiteLLM holds", () => {
  let taken = 0
  it.effect.prop(
    "is spoken of, and what is written is served without a doubt and without a credential",
    [file],
    ([generated]) =>
      Effect.gen(function* () {
        const read = withoutUndefined(generated)
        const { values, findings: told, variables } = fromLitellm(read)
        const spoken = new Set(told.map(({ path }) => path))
        // An entry that is left out is spoken of as such; the rest of it is still listed.
        const silent = things(read)
          .map(formatPath)
          .filter((path) => path !== "" && !spoken.has(path))
        assert.deepStrictEqual(
          silent.filter((path) => !path.startsWith("router_settings.model_group_alias")),
          []
        )
        for (const { verdict } of told) assert.include(verdicts, verdict)
        const { models } = (values as { readonly llm: { readonly models: ReadonlyArray<unknown> } }).llm
        if (models.length === 0) return
        taken++
        const text = write(values)
        const problems = yield* findings({ name: "config.yaml", text, env: Object.fromEntries(variables) })
        assert.deepStrictEqual(formatText(problems), "", `${stringify(read)}\n${text}`)
        assert.notMatch(text + told.map(({ message }) => message).join("\n"), /sk-literal|secret-value/)
      }),
    { arbitrary: { runs: 300 } }
  )

  it("is something to be written, mostly", () => assert.isAbove(taken, 150))
})
