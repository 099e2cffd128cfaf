import { readFileSync } from "node:fs"
import { join } from "node:path"
import { assert, describe, it } from "@effect/vitest"
import { Schema } from "effect"
import { parse } from "yaml"
import { parseBaseUrl } from "./base-url.ts"
import { placeKey } from "./credential.ts"
import { copilotFormats } from "./model-family.ts"
import { type PresetName, presets } from "./presets.ts"
import { compileProvider, NoSuchEndpoint, presetSettings } from "./provider.ts"
import type { ProviderSettings } from "./settings.ts"
import type { Call } from "./target.ts"
import { type WireFormat, wireFormats } from "./wire-format.ts"

interface Golden {
  readonly preset?: PresetName
  readonly settings?: ProviderSettings
  readonly calls: Readonly<Record<string, string>>
  readonly credential?: unknown
  readonly headers?: Readonly<Record<string, string>>
  readonly removes?: string
}
const golden: ReadonlyArray<Golden> = parse(readFileSync(join(import.meta.dirname, "targets.yaml"), "utf8"))

const callOf = (text: string): Call => {
  const [, format, model, flags = "", url = ""] =
    /^(\S+) (.+?)((?: stream| translated)*)(?: (\/\S*))?$/.exec(text) ?? assert.fail(`unreadable call ${text}`)
  const [clientPath = "", clientQuery = ""] = url.split("?")
  return {
    format: format as WireFormat | "passthrough",
    model: model!,
    streaming: flags.includes("stream"),
    translated: flags.includes("translated"),
    clientPath,
    clientQuery
  }
}

describe("provider targets", () => {
  for (const { preset, settings, calls, credential, headers, removes } of golden)
    describe(JSON.stringify(preset === undefined ? settings : [preset, settings ?? ""]), () => {
      const provider = compileProvider(preset === undefined ? settings! : presetSettings(preset, settings))
      for (const [text, expected] of Object.entries(calls))
        it(text, () => {
          const target = provider.target(callOf(text))
          if (target instanceof NoSuchEndpoint) return assert.strictEqual("refused", expected)
          assert.strictEqual(`${target.scheme}://${target.host}:${target.port}${target.path}`, expected)
          if (credential !== undefined && !text.startsWith("g")) assert.deepStrictEqual(target.credential, credential)
          if (headers !== undefined && text.includes("claude"))
            assert.deepStrictEqual(Object.fromEntries(target.setHeaders), headers)
          if (removes !== undefined) assert.include(target.removeHeaders, removes)
        })
    })

  it("every preset is in the table above", () => {
    assert.deepStrictEqual([...new Set(golden.flatMap((g) => g.preset ?? []))].sort(), Object.keys(presets).sort())
  })

  it("formats are those that have an endpoint", () => {
    assert.deepStrictEqual(compileProvider({ kind: "anthropic" }).formats("claude-x"), [
      "messages",
      "anthropicTokenCount"
    ])
    const bedrock = compileProvider({ kind: "bedrock", region: "r" })
    assert.include(bedrock.formats("anthropic.claude-x"), "bedrockCountTokens")
    assert.notInclude(bedrock.formats("amazon.nova"), "bedrockCountTokens")
  })

  it("Google's keys move on native paths only, and by passthrough as the path says", () => {
    const gemini = compileProvider({ kind: "gemini" })
    const credential = (text: string) => {
      const target = gemini.target(callOf(text))
      return target instanceof NoSuchEndpoint ? target : target.credential
    }
    const moved = { type: "key", move: { header: "x-goog-api-key", onlyPrefix: "AIza" } } as const
    assert.deepStrictEqual(credential("generateContent gemini-x"), moved)
    assert.deepStrictEqual(credential("passthrough x /v1beta/files"), moved)
    assert.deepStrictEqual(credential("passthrough x /v1beta/openai/files"), { type: "key" })
  })

  it.prop(
    "a model name never leaves its path segment, whatever it is",
    { model: Schema.String, tail: Schema.Literals(["", "/../x", "?a=b", "#f", "%2e%2e", "\\..", "\n", "\u0000"]) },
    ({ model, tail }) => {
      for (const settings of [
        { kind: "gemini" },
        { kind: "bedrock", region: "r" },
        { kind: "vertex", project: "p" },
        { kind: "azure", resourceName: "r", resourceType: "openAI", apiVersion: "2024-10-21" }
      ] as const)
        for (const format of wireFormats) {
          const target = compileProvider(settings).target({ ...callOf(`${format} m`), model: model + tail })
          if (target instanceof NoSuchEndpoint) continue
          assert.match(target.path, /^[\x21-\x7e]+$/)
          const plain = compileProvider(settings).target({ ...callOf(`${format} m`), model: "m" })
          // The same number of segments as with a harmless name of the same family, and a URL parser agrees.
          const parsed = new URL(`https://h${target.path}`)
          assert.strictEqual(parsed.pathname + parsed.search, target.path)
          if (!(plain instanceof NoSuchEndpoint) && plain.path.split("?")[0]!.includes("/m"))
            assert.isAtLeast(target.path.split("/").length, plain.path.split("/").length)
        }
    },
    { arbitrary: { runs: 60 } }
  )
})

describe("base URL", () => {
  it.each([
    ["https://h/v1/", { scheme: "https", host: "h", port: 443, pathPrefix: "/v1" }],
    ["http://h", { scheme: "http", host: "h", port: 80 }],
    ["http://h:81/", { scheme: "http", host: "h", port: 81 }],
    ["https://[::1]:8443/a/b", { scheme: "https", host: "[::1]", port: 8443, pathPrefix: "/a/b" }],
    ["https://u@h", { problem: "Expected a URL without user info" }],
    ["https://h?x=1", { problem: "Expected a URL without query and fragment" }],
    ["ftp://h", { problem: "Expected an http or https URL" }],
    ["h:80", { problem: "Expected an http or https URL" }]
  ] as const)("%s", (url, expected) => {
    assert.deepStrictEqual(parseBaseUrl(url), expected)
  })
})

describe("key placement", () => {
  const anthropic = { type: "key", move: { header: "x-api-key", exceptPrefix: "sk-ant-oat" } } as const
  it.each([
    ["a key moves to its header", "Bearer sk-ant-1", false, [["x-api-key", "sk-ant-1"]], ["authorization"]],
    ["an OAuth token stays", "Bearer sk-ant-oat-1", false, [], ["x-api-key"]],
    ["a key that was put there on purpose stays", "Bearer sk-ant-1", true, [], ["x-api-key"]],
    ["another scheme is none of our business", "Basic abc", false, [], []],
    ["no key, no change", undefined, false, [], []]
  ] as const)("%s", (_, authorization, explicit, set, remove) => {
    assert.deepStrictEqual<unknown>(placeKey(anthropic, authorization, explicit), { set, remove })
  })

  it("keys of Azure have their header, tokens of Entra ID are bearer tokens", () => {
    const target = compileProvider({ kind: "azure", resourceName: "r", resourceType: "openAI" }).target(
      callOf("completions gpt-x")
    )
    if (target instanceof NoSuchEndpoint) return assert.fail("no endpoint")
    assert.deepStrictEqual(placeKey(target.credential, "Bearer abc", false), {
      set: [["api-key", "abc"]],
      remove: ["authorization"]
    })
    assert.deepStrictEqual(placeKey(target.credential, "Bearer eyJhbGciOi", false), { set: [], remove: ["api-key"] })
  })

  it("Google's keys are known by their prefix", () => {
    const google = { type: "key", move: { header: "x-goog-api-key", onlyPrefix: "AIza" } } as const
    assert.deepStrictEqual(placeKey(google, "bearer AIzaX", false).set, [["x-goog-api-key", "AIzaX"]])
    assert.deepStrictEqual(placeKey(google, "Bearer ya29.x", false), { set: [], remove: [] })
  })
})

describe("Copilot formats", () => {
  it.each([
    ["claude-opus", ["messages", "completions"]],
    ["GPT-5.4", ["completions", "responses", "embeddings", "rerank"]],
    ["gpt-5", ["responses", "embeddings", "rerank"]],
    ["gpt-4o", ["completions", "embeddings", "rerank"]],
    ["grok-1", ["responses", "embeddings", "rerank"]],
    ["other", ["completions", "embeddings", "rerank"]]
  ] as const)("%s", (model, formats) => {
    assert.deepStrictEqual<unknown>(copilotFormats(model), formats)
  })

  it("tags of the catalogue come first, and only formats with an endpoint remain", () => {
    const { formats } = compileProvider({ kind: "copilot" })
    assert.deepStrictEqual(formats("gpt-4o", ["openai_responses", "vertex_gemini", "nonsense"]), [
      "responses",
      "embeddings",
      "rerank"
    ])
  })
})
