import { assert, describe, it } from "@effect/vitest"
import { Arbitrary, Schema } from "effect"
import { compileAliases } from "./aliases.ts"
import { isModelsPath, listedNames, modelList } from "./list.ts"
import { allowsName, matchesName, type NamePattern, parsePattern, patternsMeet, specificity } from "./name-pattern.ts"
import { canonicalPath, forgivenPath, otherReading } from "./path-form.ts"
import { compileRouteTypes, isConversation, routerPaths } from "./route-type.ts"
import { indexModels, type Opinion } from "./selection.ts"
import { failoverGroups, pickWeighted } from "./virtual.ts"

const pattern = (text: string): NamePattern => parsePattern(text) ?? assert.fail(`no pattern: ${text}`)
const letters = Arbitrary.map(
  Arbitrary.array(Arbitrary.schema(Schema.Literals(["a", "b", "-"])), { maxLength: 4 }),
  (l) => l.join("")
)
const patterns = Arbitrary.map(
  Arbitrary.all({ letters, kind: Arbitrary.schema(Schema.Literals(["exact", "prefix", "suffix", "any"])) }),
  ({ letters, kind }) =>
    kind === "exact" ? letters : kind === "prefix" ? `${letters}*` : kind === "suffix" ? `*${letters}` : "*"
)

describe("name patterns", () => {
  it("a star stands at one end or alone", () => {
    for (const text of ["a*b", "**", "*a*", "a**"]) assert.isUndefined(parsePattern(text))
    assert.strictEqual(specificity(pattern("gpt-*")), 4)
    assert.strictEqual(specificity(pattern("*")), 0)
    assert.isTrue(allowsName(undefined, "x"))
    assert.isFalse(allowsName([], "x"))
  })

  it.prop(
    "matching is what a glob means",
    { patterns, letters },
    ({ patterns, letters }) => {
      const glob = new RegExp(`^${patterns.replaceAll("-", "\\-").replace("*", ".*")}$`)
      assert.strictEqual(matchesName(pattern(patterns), letters), glob.test(letters))
    },
    { arbitrary: { runs: 300 } }
  )

  it.prop(
    "two patterns meet when a name matches both",
    { a: patterns, b: patterns, name: letters },
    ({ a, b, name }) => {
      const [p, q] = [pattern(a), pattern(b)]
      assert.strictEqual(patternsMeet(p, q), patternsMeet(q, p))
      if (matchesName(p, name) && matchesName(q, name)) assert.isTrue(patternsMeet(p, q))
      // And the other way: a witness exists.
      if (patternsMeet(p, q)) {
        const text = (x: NamePattern) => (x.type === "any" ? "" : x.text)
        const witnesses = [text(p), text(q), text(p) + text(q), text(q) + text(p)]
        assert.isTrue(
          witnesses.some((w) => matchesName(p, w) && matchesName(q, w)),
          `${a} ${b}`
        )
      }
    },
    { arbitrary: { runs: 400 } }
  )
})

describe("selection", () => {
  const opinions = Arbitrary.schema(Schema.Literals(["skip", "deny", "take"]))
  const configured = Arbitrary.array(Arbitrary.all({ name: patterns, opinion: opinions }), { maxLength: 10 })
  it.prop(
    "agrees with trying every model in order of specificity",
    { configured, name: letters },
    ({ configured, name }) => {
      const models = configured.map(({ name, opinion }, id) => ({ pattern: pattern(name), opinion, id }))
      const index = indexModels(models)
      const tried: Array<number> = []
      const opinion = (m: { opinion: Opinion; id: number }) => {
        tried.push(m.id)
        return m.opinion
      }
      const selection = index.select(name, opinion)
      const order = models
        .toSorted((a, b) => specificity(b.pattern) - specificity(a.pattern))
        .filter((m) => matchesName(m.pattern, name))
      const taken = order.findIndex((m) => m.opinion === "take")
      assert.deepStrictEqual(
        tried,
        order.slice(0, taken === -1 ? order.length : taken + 1).map((m) => m.id)
      )
      assert.deepStrictEqual(
        selection.type === "found" ? selection.model.id : selection.type,
        taken !== -1 ? order[taken]!.id : order.some((m) => m.opinion === "deny") ? "denied" : "missing"
      )
      assert.deepStrictEqual(
        index.models.map((m) => m.id),
        models.toSorted((a, b) => specificity(b.pattern) - specificity(a.pattern)).map((m) => m.id)
      )
    },
    { arbitrary: { runs: 400 } }
  )
})

describe("route types", () => {
  const router = compileRouteTypes(routerPaths)
  it.each([
    ["/v1/chat/completions", "completions"],
    ["/openai/v1/chat/completions", "completions"],
    ["/v1/messages", "messages"],
    ["/v1/messages/count_tokens", "anthropicTokenCount"],
    ["/v1/projects/p/locations/l/publishers/anthropic/models/claude:streamRawPredict", "messages"],
    ["/v1beta/models/gemini:generateContent", "generateContent"],
    ["/v1beta/models/gemini:countTokens", "geminiCountTokens"],
    ["/v1/responses", "responses"],
    ["/v1/responses/compact", "detect"],
    ["/v1/images/edits", "detect"],
    ["/v2/rerank", "rerank"],
    ["/v1/moderations", "passthrough"],
    ["/v1/realtime", "passthrough"],
    ["/model/x/converse", "passthrough"],
    ["/v1/chat/completions/", "passthrough"],
    ["/chat/completions", "completions"],
    ["/messages", "messages"],
    ["/openai/responses", "responses"],
    ["/embeddings", "embeddings"]
  ] as const)("%s is %s", (path, type) => {
    assert.strictEqual(router(path), type)
  })

  it("what is sent to a model of Bedrock unread may be a conversation", () => {
    for (const path of ["/model/m/converse", "/model/m/invoke"])
      assert.deepStrictEqual([isConversation(path, true), isConversation(path, false)], [true, false])
  })

  it("the longest end counts, no table means completions, a model can open the rest for detection", () => {
    assert.strictEqual(compileRouteTypes({ "/x": "messages", "/a/x": "responses" })("/b/a/x"), "responses")
    assert.strictEqual(compileRouteTypes({})("/openai"), "completions")
    assert.strictEqual(compileRouteTypes({ "/x": "messages" })("/y"), "completions")
    assert.strictEqual(compileRouteTypes(routerPaths, "detect")("/v1/moderations"), "detect")
    assert.strictEqual(compileRouteTypes(routerPaths, "detect")("/v1/responses"), "responses")
  })

  it("a table says itself what the short form of one of its paths is", () => {
    const own = compileRouteTypes({ "/v1/messages": "messages", "/messages": "detect", "*": "passthrough" })
    assert.deepStrictEqual(["/v1/messages", "/messages", "/responses"].map(own), ["messages", "detect", "passthrough"])
  })

  it.each([
    ["/v1/chat/completions;a=b", "/v1/chat/completions"],
    ["/v1;x/messages//;y/", "/v1/messages"],
    ["/v1beta/models/g;x:generateContent", "/v1beta/models/g:generateContent"]
  ])("%s is handled as %s", (path, form) => assert.strictEqual(canonicalPath(path), form))

  it.each([
    "/v1/chat/completions%3f",
    "/v1/chat/completions%3Fx",
    "/v1/Chat/Completions",
    "/v1/chat/completions%23x",
    "/v1/chat/completions%3ba",
    "/v1/chat%5ccompletions",
    "/v1/chat/%2563ompletions",
    "/v1/chat/completions%20",
    "/v1/chat./completions.",
    "/chat//completions/"
  ])("%s may be a conversation to somebody", (path) => {
    const other = otherReading(path)
    assert.isTrue(other === undefined || isConversation(forgivenPath(other), false))
  })
})

describe("virtual models", () => {
  const n = (maximum: number) => Arbitrary.schema(Schema.Int.check(Schema.isBetween({ minimum: 0, maximum })))
  const targets = Arbitrary.map(Arbitrary.array(n(5), { maxLength: 6 }), (weights) =>
    weights.map((weight, i) => ({ model: `m${i}`, weight }))
  )

  it("weights are proportions", () => {
    const targets = [
      { model: "a", weight: 1 },
      { model: "b", weight: 0 },
      { model: "c", weight: 3 }
    ]
    const counts = { a: 0, b: 0, c: 0 }
    for (let i = 0; i < 1000; i++) counts[pickWeighted(targets, i / 1000)!.model as "a" | "b" | "c"]++
    assert.deepStrictEqual(counts, { a: 250, b: 0, c: 750 })
  })

  it.prop(
    "a target without weight is never picked, and something is picked when there is any weight",
    { targets, random: Schema.Finite.check(Schema.isBetween({ minimum: 0, maximum: 1 })) },
    ({ targets, random }) => {
      const picked = pickWeighted(targets, random)
      assert.strictEqual(
        picked === undefined,
        targets.every(({ weight }) => weight === 0)
      )
      if (picked !== undefined) assert.isAbove(picked.weight, 0)
    },
    { arbitrary: { runs: 300 } }
  )

  it("failover groups are in order of priority, and of the file inside", () => {
    const t = (model: string, priority: number) => ({ model, priority })
    assert.deepStrictEqual(
      failoverGroups([t("b", 2), t("a", 1), t("c", 2), t("z", -1)]).map((g) => g.map((x) => x.model)),
      [["z"], ["a"], ["b", "c"]]
    )
  })
})

describe("model list", () => {
  const models = ["gpt-4o", "gpt-*", "*-mini", "*"].map((name) => ({ name, pattern: pattern(name) }))
  it.each([
    ["everything without an allow-list", undefined, ["gpt-4o", "gpt-*", "*-mini", "*", "smart"]],
    ["nothing with an empty one", [], []],
    ["exact names that wildcards cover, once", ["gpt-4o", "gpt-5", "o3"], ["gpt-4o", "gpt-5", "o3"]],
    ["a wildcard where the list's wildcards meet it", ["gpt-5*"], ["gpt-*", "*-mini", "*"]],
    ["a virtual model by its name", ["smart"], ["smart"]]
  ] as const)("%s", (_, allowed, names) => {
    assert.deepStrictEqual<unknown>(listedNames(models, ["smart"], allowed?.map(pattern)), names)
  })

  it("has the shape of OpenAI's list", () => {
    assert.strictEqual(
      modelList(["m"], 7),
      '{"data":[{"id":"m","object":"model","created":7,"owned_by":"openai"}],"object":"list"}'
    )
  })

  it("answers at two places and below them", () => {
    for (const path of ["/v1/models", "/models", "/models/", "/v1/models/gpt", "/v1/models//"])
      assert.isTrue(isModelsPath(path), path)
    for (const path of ["/v1/modelsx", "/v2/models", "/", "/x/models"]) assert.isFalse(isModelsPath(path), path)
  })
})

describe("aliases", () => {
  it("exact before wildcard, longer before shorter, others unchanged", () => {
    const alias = compileAliases({
      "gpt-4": "exact",
      "gpt-*": "family",
      "gpt-*-mini": "small",
      "*": "rest",
      constructor: "c"
    })
    assert.deepStrictEqual(["gpt-4", "gpt-5", "gpt-5-mini", "x", "constructor", "toString"].map(alias), [
      "exact",
      "family",
      "small",
      "rest",
      "c",
      "rest"
    ])
    assert.strictEqual(compileAliases({ a: "b" })("toString"), "toString")
  })

  const globs = Arbitrary.map(
    Arbitrary.array(Arbitrary.schema(Schema.Literals(["a", "b", "-", "*"])), { minLength: 1, maxLength: 6 }),
    (l) => l.join("")
  )
  it.prop(
    "a wildcard key is a glob",
    { globs, letters },
    ({ globs, letters }) => {
      const expected = globs.includes("*")
        ? new RegExp(`^${globs.replaceAll("-", "\\-").replaceAll("*", ".*")}$`).test(letters)
        : globs === letters
      assert.strictEqual(compileAliases({ [globs]: "yes" })(letters) === "yes", expected)
    },
    { arbitrary: { runs: 400 } }
  )
})
