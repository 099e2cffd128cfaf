/** Files with forms that others have replaced: what is written in their place, what is told, and that all else stays. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterAll, assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { commanded, ctl } from "./tool.ts"

const folder = mkdtempSync(join(tmpdir(), "headgate-migrate-"))
afterAll(() => rmSync(folder, { recursive: true, force: true }))
let files = 0
const fileOf = (text: string): string => {
  const file = join(folder, `${++files}.yaml`)
  writeFileSync(file, text)
  return file
}

const model = "{ name: a, provider: openai }"

interface Migration {
  readonly what: string
  readonly old: string
  readonly now: string
  readonly told: ReadonlyArray<string>
}

const migrations: ReadonlyArray<Migration> = [
  {
    what: "a port of the models, with its comments and references",
    old: `# Mine.\nllm:\n  # Where.\n  port: \${MIGRATED_PORT:-4000}   # the port\n  models: [${model}]\n# The end.\n`,
    now: `# Mine.\nllm:\n  # Where.\n  gateways: llm   # the port\n  models: [${model}]\n# The end.\ngateways:\n  llm:\n    port: \${MIGRATED_PORT:-4000}\n`,
    told: ["exact: llm.port: a gateway, and llm.gateways"]
  },
  {
    what: "a port of MCP servers beside gateways, one of the name",
    old: "gateways:\n    mcp:\n        port: 1\n    web: { port: 2 }\nmcp: { port: 3000, targets: [] }\n",
    now: "gateways:\n    mcp-own:\n      port: 3000\n    mcp:\n        port: 1\n    web: { port: 2 }\nmcp: { gateways: mcp-own, targets: [] }\n",
    told: [
      "approximate: mcp.port: a gateway, and mcp.gateways; it answers at /mcp, /sse and /.well-known, and at no other path any more"
    ]
  },
  {
    what: "a port that both share",
    old: `llm: { port: 4000, models: [${model}] }\nmcp: { port: 4000, targets: [] }`,
    now: `llm: { gateways: llm, models: [${model}] }\nmcp: { gateways: llm, targets: [] }\ngateways:\n  llm:\n    port: 4000\n`,
    told: ["exact: llm.port: a gateway, and llm.gateways and mcp.gateways"]
  },
  {
    what: "JSON",
    old: '{"gateways": {"web": {"port": 1}}, "llm": {"port": 4000, "models": []}}',
    now: '{"gateways": { "llm": { "port": 4000 },"web": {"port": 1}}, "llm": {"gateways": "llm", "models": []}}',
    told: ["exact: llm.port: a gateway, and llm.gateways"]
  },
  {
    what: "addresses of models, but for one that is no URL",
    old: `gateways: { default: { port: 1 } }\nllm:\n  providers: [{ name: own, provider: openai, params: { hostOverride: 'own:80' } }]\n  models:\n  - { name: a, provider: { reference: own } }\n  - { name: b, provider: openai, params: { hostOverride: "localhost:9001", pathPrefix: /x } }\n  - { name: c, provider: openai, params: { hostOverride: "unix:/run/models" } }\n`,
    now: `gateways: { default: { port: 1 } }\nllm:\n  providers: [{ name: own, provider: openai, params: { baseUrl: 'http://own:80' } }]\n  models:\n  - { name: a, provider: { reference: own } }\n  - { name: b, provider: openai, params: { baseUrl: "http://localhost:9001", pathPrefix: /x } }\n  - { name: c, provider: openai, params: { hostOverride: "unix:/run/models" } }\n`,
    told: [
      "exact: llm.models[1].params.hostOverride: baseUrl",
      "manual: llm.models[2].params.hostOverride: left as it is: written as baseUrl, something else of the file would change its meaning",
      "exact: llm.providers[0].params.hostOverride: baseUrl"
    ]
  },
  {
    what: "what this build could not serve in its newer form",
    old: "gateways: { default: { port: 1 } }\nconfig:\n  tracing: { otlpEndpoint: http://localhost:4317 }\n  logging: { filter: 'true', fields: { remove: [src.addr] } }\n",
    now: "gateways: { default: { port: 1 } }\nconfig:\n  tracing: { otlpEndpoint: http://localhost:4317 }\n  logging: { filter: 'true', fields: { remove: [src.addr] } }\n",
    told: [
      "manual: config.tracing: left as it is: this build does not have frontendPolicies.tracing yet",
      "manual: config.logging.filter: left as it is: this build does not have frontendPolicies.accessLog.filter yet",
      "manual: config.logging.fields: left as it is: this build does not have frontendPolicies.accessLog.add and remove yet"
    ]
  }
]

describe("migrating a file", () => {
  it.effect.each(migrations)("writes anew $what", ({ old, now, told }) =>
    Effect.gen(function* () {
      const file = fileOf(old)
      const { code, out, err } = yield* ctl("migrate", file)
      assert.deepStrictEqual([code, err], [0, told])
      assert.strictEqual(readFileSync(file, "utf8"), now)
      assert.deepStrictEqual(out, [`${old === now ? "Nothing to migrate" : "Migrated config"}: ${file}`])
      // What is exact is not told a second time.
      const again = yield* ctl("migrate", file)
      assert.deepStrictEqual(again.out, [`Nothing to migrate: ${file}`])
      assert.deepStrictEqual(
        again.err,
        told.filter((line) => line.startsWith("manual"))
      )
    })
  )

  it.effect("is a command of the proxy, too", () =>
    Effect.gen(function* () {
      const file = fileOf(migrations[0]!.old)
      const ran = yield* commanded(() => Effect.void, "migrate", "-f", file)
      assert.deepStrictEqual(ran.out, [`Migrated config: ${file}`])
      assert.strictEqual(readFileSync(file, "utf8"), migrations[0]!.now)
    })
  )

  it.effect("leaves a file alone that has mistakes", () =>
    Effect.gen(function* () {
      const text = "llm: { port: 4000, modles: [] }\n"
      const file = fileOf(text)
      const { code, err } = yield* ctl("migrate", file)
      assert.strictEqual(code, 1)
      assert.match(err.join("\n"), /llm\.modles: unknown key, did you mean models\?/)
      assert.strictEqual(readFileSync(file, "utf8"), text)
    })
  )
})
