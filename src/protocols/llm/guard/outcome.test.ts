import { assert, describe, it } from "@effect/vitest"
import { Result, Schema } from "effect"
import type { JsonObject } from "../formats/json.ts"
import { defaultScopes } from "./assignment.ts"
import { applyManagedVerdict, applyRegexGuard, applyWebhookReply, textsOf } from "./evaluate.ts"
import { defaultRejection, enforce, type Finding } from "./outcome.ts"
import { compileRegexGuard, type RegexRule } from "./regex-guard.ts"
import { readWebhookReply, webhookRequest, webhookResponse } from "./webhook.ts"

const guard = (...rules: ReadonlyArray<RegexRule>) => Result.getOrThrow(compileRegexGuard(rules))

describe("webhook protocol", () => {
  it("posts conversations and choices", () => {
    assert.strictEqual(
      webhookRequest([{ role: "user", content: "hi" }]),
      '{"body":{"messages":[{"role":"user","content":"hi"}]}}'
    )
    assert.strictEqual(
      webhookResponse(["ho"]),
      '{"body":{"choices":[{"message":{"role":"assistant","content":"ho"}}]}}'
    )
  })

  const reason = undefined
  it.each([
    ["request", '{"action":{}}', { type: "pass", reason }],
    ["request", '{"action":{"reason":"fine"}}', { type: "pass", reason: "fine" }],
    [
      "request",
      '{"action":{"body":{"messages":[{"role":"user","content":"m"}]},"reason":"r"}}',
      { type: "maskRequest", messages: [{ role: "user", content: "m" }], reason: "r" }
    ],
    [
      "response",
      '{"action":{"body":{"choices":[{"message":{"role":"assistant","content":"m"}}]}}}',
      { type: "maskResponse", texts: ["m"], reason }
    ],
    ["request", '{"action":{"body":"no","status_code":403}}', { type: "reject", status: 403, body: "no", reason }],
    ["request", '{"action":{"body":"no","status_code":403.5}}', { type: "pass", reason }],
    ["request", '{"action":{"body":"no"}}', { type: "pass", reason }],
    ["request", '{"action":{"body":"no","status_code":1000}}', { type: "failed", wrongKind: false }],
    ["request", '{"action":{"body":{"choices":[]}}}', { type: "failed", wrongKind: true }],
    ["response", '{"action":{"body":{"messages":[]}}}', { type: "failed", wrongKind: true }],
    ["request", '{"action":{"body":{"messages":[{"role":"user"}]}}}', { type: "failed", wrongKind: false }],
    ["request", '{"action":{"body":{"messages":"x"}}}', { type: "failed", wrongKind: false }],
    ["request", '{"action":[]}', { type: "failed", wrongKind: false }],
    ["request", "{}", { type: "failed", wrongKind: false }],
    ["request", "oops", { type: "failed", wrongKind: false }]
  ] as const)("%s %s", (phase, text, expected) => {
    assert.deepStrictEqual<unknown>(readWebhookReply(phase, text), expected)
  })

  it.prop(
    "any JSON is some reply",
    { json: Schema.Json, phase: Schema.Literals(["request", "response"]) },
    ({ json, phase }) => {
      for (const reply of [
        json,
        { action: json },
        { action: { body: json, status_code: json } },
        { action: { body: { messages: json, choices: json } } }
      ])
        assert.isString(readWebhookReply(phase, JSON.stringify(reply)).type)
    }
  )

  const chat = { messages: [{ role: "user", content: "my secret" }] }
  it("replies become findings", () => {
    const finding = (phase: "request" | "response", reply: unknown, body: JsonObject) =>
      applyWebhookReply(
        readWebhookReply(phase, JSON.stringify({ action: reply })),
        "completions",
        phase === "request" ? phase : "answer",
        body
      )
    assert.deepStrictEqual(finding("request", {}, chat), { type: "pass" })
    assert.deepStrictEqual(finding("request", { body: { messages: [{ role: "user", content: "x" }] } }, chat), {
      type: "mask",
      body: { messages: [{ role: "user", content: "x" }] }
    })
    assert.deepStrictEqual(finding("request", { body: "no", status_code: 451 }, chat), {
      type: "reject",
      answer: { status: 451, body: "no", headers: [] }
    })
    const answer = { choices: [{ message: { content: "a" } }] }
    assert.deepStrictEqual(finding("response", { body: { choices: [{ message: { content: "b" } }] } }, answer), {
      type: "mask",
      body: { choices: [{ message: { content: "b" } }] }
    })
    assert.deepStrictEqual(finding("response", { body: { choices: [] } }, answer), { type: "failed", fatal: true })
    assert.deepStrictEqual(finding("request", { body: { choices: [] } }, chat), { type: "failed", fatal: true })
  })
})

describe("outcome", () => {
  const answer = defaultRejection
  const body = { a: 1 }
  const findings: ReadonlyArray<Finding> = [
    { type: "pass" },
    { type: "mask", body },
    { type: "reject", answer },
    { type: "failed", fatal: false },
    { type: "failed", fatal: true }
  ]
  it.each([
    [false, "failClosed", ["continue Allow", "changed Mask", "answered Reject", "failed Reject", "failed Reject"]],
    [false, "failOpen", ["continue Allow", "changed Mask", "answered Reject", "continue FailOpen", "failed Reject"]],
    [true, "failClosed", ["continue Allow", "continue Audit", "continue Audit", "failed Reject", "failed Reject"]],
    [true, "failOpen", ["continue Allow", "continue Audit", "continue Audit", "continue FailOpen", "failed Reject"]]
  ] as const)("audit %s, %s", (audit, failureMode, expected) => {
    assert.deepStrictEqual<unknown>(
      findings
        .map((finding) => enforce(finding, { audit, failureMode }))
        .map(({ type, action }) => `${type} ${action}`),
      expected
    )
  })

  it("a rejecting regex stops at the first hit and answers with the configured rejection", () => {
    const request = {
      messages: [
        { role: "user", content: "id 123-45-6789" },
        { role: "user", content: "x" }
      ]
    }
    const answer = { status: 400, body: "no", headers: [["x-a", "b"]] } as const
    assert.deepStrictEqual<unknown>(
      applyRegexGuard(guard({ builtin: "ssn" }), "reject", answer, "completions", "request", request, defaultScopes),
      { type: "reject", answer }
    )
    assert.deepStrictEqual<unknown>(
      applyRegexGuard(guard({ builtin: "email" }), "reject", answer, "completions", "request", request, defaultScopes),
      { type: "pass" }
    )
    assert.strictEqual(defaultRejection.status, 403)
    assert.strictEqual(defaultRejection.body, "request rejected due to inappropriate content")
  })

  it("a managed mask goes back to where its texts came from", () => {
    const request = {
      messages: [
        { role: "system", content: "s" },
        { role: "user", content: "my name" },
        { role: "tool", content: "o" }
      ]
    }
    const apply = (texts: ReadonlyArray<string>) =>
      applyManagedVerdict({ type: "mask", texts }, defaultRejection, "completions", "request", request, defaultScopes)
    assert.deepStrictEqual(textsOf("completions", "request", request, defaultScopes), ["s", "my name"])
    assert.deepStrictEqual<unknown>(apply(["s", "my {NAME}"]), {
      type: "mask",
      body: {
        messages: [
          { role: "system", content: "s" },
          { role: "user", content: "my {NAME}" },
          { role: "tool", content: "o" }
        ]
      }
    })
    for (const type of ["pass", "failed", "reject"] as const)
      assert.strictEqual(
        applyManagedVerdict({ type }, defaultRejection, "completions", "request", request, defaultScopes).type,
        type
      )
  })
})
