import { Buffer } from "node:buffer"
import { assert, describe, it } from "@effect/vitest"
import { Arbitrary, Schema } from "effect"
import { hidesModel, modelInPath, withModelInPath } from "./model-path.ts"
import { multipartBoundary, multipartField } from "./multipart.ts"
import { refusal, virtualTargetNotFound } from "./refusal.ts"
import { requestedModel } from "./requested.ts"

describe("model in the path", () => {
  it.each([
    ["/v1beta/models/gemini-x:generateContent", "gemini-x"],
    ["/v1beta/models/a%2Fb:streamGenerateContent", "a/b"],
    ["/v1beta/tunedModels/mine:generateContent", "tunedModels/mine"],
    ["/v1/projects/p/locations/l/publishers/anthropic/models/claude@1:rawPredict", "claude@1"],
    ["/model/anthropic.claude-v1%3A0/converse", "anthropic.claude-v1:0"],
    ["/model/m/invoke-with-response-stream", "m"],
    ["/v1beta/models/m:embedContent", "m"],
    ["/v1/projects/p/locations/l/publishers/google/models/m:predictLongRunning", "m"],
    ["/model/m/count-tokens", "m"],
    ["/v1/models/m", undefined],
    ["/v1beta/models/a%2F..%2Fb:generateContent", undefined],
    ["/v1beta/models/..:generateContent", undefined],
    ["/v1beta/models/a%3Fb:countTokens", undefined],
    ["/v1beta/models/a%00:countTokens", undefined],
    ["/v1beta/models/a%zz:countTokens", undefined],
    ["/v1beta/models/:countTokens", undefined],
    ["/publishers/anthropic/models/count-tokens:rawPredict", undefined],
    ["/v1/chat/completions", undefined],
    ["/model//converse", undefined]
  ] as const)("%s", (path, model) => {
    assert.strictEqual(modelInPath(path)?.model, model)
  })

  it.each([
    ["/v1beta/models/evil%20:generateContent", true],
    ["/v1beta/models/:embedContent", true],
    ["/v1beta/models/m:generateContent", false],
    ["/publishers/anthropic/models/count-tokens:rawPredict", false],
    ["/v1/chat/completions", false]
  ])("%s hides a model: %s", (path, hides) => {
    assert.strictEqual(hidesModel(path), hides)
  })

  it("a tuned model is written into its collection once", () => {
    const path = "/v1beta/tunedModels/a:generateContent"
    assert.strictEqual(
      withModelInPath(path, modelInPath(path)!, "tunedModels/b"),
      "/v1beta/tunedModels/b:generateContent"
    )
  })

  it.prop(
    "another model can be written there and read back, and nothing else of the path moves",
    { model: Schema.String, op: Schema.Literals([":generateContent", ":rawPredict"]) },
    ({ model, op }) => {
      const path = `/v1/x/models/old${op}`
      const written = withModelInPath(path, modelInPath(path)!, model)
      if (written === undefined) return assert.include(["", ".", ".."], model)
      assert.isTrue(written.startsWith("/v1/x/models/") && written.endsWith(op))
      assert.strictEqual(written.split("/").length, path.split("/").length)
      const read = modelInPath(written)
      if (read !== undefined) assert.strictEqual(read.model, model.toWellFormed())
    },
    { arbitrary: { runs: 300 } }
  )

  it.prop(
    "no path makes it throw",
    {
      parts: Arbitrary.array(
        Arbitrary.schema(
          Schema.Literals([
            "/",
            "models",
            "/models/",
            "%2F",
            "%",
            "%zz",
            "..",
            ":",
            ":countTokens",
            "/invoke",
            "a",
            "/model/"
          ])
        ),
        { maxLength: 8 }
      )
    },
    ({ parts }) => {
      const found = modelInPath(parts.join(""))
      if (found !== undefined) for (const segment of found.model.split("/")) assert.notInclude(["", ".", ".."], segment)
    },
    { arbitrary: { runs: 300 } }
  )
})

describe("multipart", () => {
  const form = (...parts: ReadonlyArray<string>) =>
    Buffer.from(`${parts.map((part) => `--B\r\n${part}\r\n`).join("")}--B--\r\n`)
  const field = (name: string, value: string) => `Content-Disposition: form-data; name="${name}"\r\n\r\n${value}`
  const file = `Content-Disposition: form-data; name="image"; filename="a.png"\r\nContent-Type: image/png\r\n\r\n\u0000\r\n-- \r\n--C`
  const read = (body: Buffer) => multipartField(body, "B", "model")

  it.each([
    [
      "a field among others",
      form(file, field("model", "gpt-image"), field("n", "1")),
      { type: "text", text: "gpt-image" }
    ],
    [
      "unquoted name, other case",
      form("content-disposition:form-data; name=model\r\n\r\nm"),
      { type: "text", text: "m" }
    ],
    [
      "after a preamble, which other readers may take for the body",
      Buffer.concat([Buffer.from('{"model":"other"}\r\n'), form(field("model", "m"))]),
      { type: "malformed" }
    ],
    [
      "after an empty preamble",
      Buffer.concat([Buffer.from("\r\n"), form(field("model", "m"))]),
      { type: "text", text: "m" }
    ],
    ["empty", form(field("model", "")), { type: "text", text: "" }],
    ["missing", form(file), { type: "missing" }],
    [
      "a file of that name",
      form('Content-Disposition: form-data; name="model"; filename="x"\r\n\r\nm'),
      { type: "invalid" }
    ],
    ["twice", form(field("model", "a"), field("model", "b")), { type: "invalid" }],
    [
      "not UTF-8",
      Buffer.concat([
        Buffer.from('--B\r\nContent-Disposition: form-data; name="model"\r\n\r\n'),
        Buffer.from([0xff]),
        Buffer.from("\r\n--B--")
      ]),
      { type: "invalid" }
    ],
    ["no boundary in it", Buffer.from("hello"), { type: "malformed" }],
    ["never closed", Buffer.from("--B\r\nContent-Disposition: form-data; name=model\r\n\r\nm"), { type: "malformed" }],
    ["no headers", form("\r\nx"), { type: "missing" }]
  ] as const)("%s", (_, body, expected) => {
    assert.deepStrictEqual<unknown>(read(body), expected)
  })

  it("reads boundaries as the standard writes them", () => {
    assert.strictEqual(multipartBoundary("multipart/form-data; boundary=abc"), "abc")
    assert.strictEqual(multipartBoundary('Multipart/Form-Data; charset=x; boundary="a b:c"; y=z'), "a b:c")
    for (const type of [
      "multipart/form-data",
      "multipart/mixed; boundary=a",
      "multipart/form-data; boundary=",
      `multipart/form-data; boundary=${"a".repeat(71)}`,
      'multipart/form-data; boundary="a "'
    ])
      assert.isUndefined(multipartBoundary(type))
  })

  it("what a platform's own form writer writes is read", async () => {
    const data = new FormData()
    data.set("file", new Blob(["\r\n--x"]), 'a"b.png')
    data.set("model", "gpt-image-1")
    const response = new Response(data)
    const boundary = multipartBoundary(response.headers.get("content-type")!)!
    assert.deepStrictEqual(multipartField(Buffer.from(await response.arrayBuffer()), boundary, "model"), {
      type: "text",
      text: "gpt-image-1"
    })
  })

  it.prop(
    "no bytes make it throw",
    {
      parts: Arbitrary.array(
        Arbitrary.schema(
          Schema.Literals([
            "--B",
            "\r\n",
            "--",
            "Content-Disposition: form-data; name=model",
            "\r\n\r\n",
            "x",
            " ",
            '"',
            ";",
            "\u0000"
          ])
        ),
        { maxLength: 16 }
      )
    },
    ({ parts }) => {
      assert.isDefined(read(Buffer.from(parts.join(""))).type)
    },
    { arbitrary: { runs: 400 } }
  )
})

describe("requested model", () => {
  const ask = (path: string, type: string | undefined, body: string) => {
    const result = requestedModel(path, type, Buffer.from(body))
    return result.type === "refused"
      ? `${result.status} ${result.code}: ${result.message}`
      : `${result.type} ${result.model}`
  }
  it.each([
    ["/v1beta/models/g:generateContent", undefined, "{}", "path g"],
    ["/v1/chat/completions", "application/json", '{"model":"m"}', "body m"],
    ["/v1/chat/completions", undefined, "{", "400 invalid_request_body: LLM request body must be valid JSON"],
    ["/v1/chat/completions", undefined, "[]", "400 missing_model: LLM request body is missing string field 'model'"],
    [
      "/v1/chat/completions",
      undefined,
      '{"model":1}',
      "400 missing_model: LLM request body is missing string field 'model'"
    ],
    [
      "/v1/images/edits",
      "multipart/form-data; boundary=B",
      '--B\r\nContent-Disposition: form-data; name="model"\r\n\r\nm\r\n--B--',
      "form m"
    ],
    [
      "/v1/images/edits",
      "multipart/form-data; boundary=B",
      "--B--",
      "400 missing_model: LLM multipart request body is missing string field 'model'"
    ],
    [
      "/v1/images/edits",
      "multipart/form-data",
      "",
      "400 invalid_request_body: LLM multipart request body must be valid multipart/form-data"
    ],
    [
      "/v1/images/edits",
      "multipart/form-data; boundary=B",
      '--B\r\nContent-Disposition: form-data; name="model"; filename=x\r\n\r\nm\r\n--B--',
      "400 invalid_model: LLM multipart request body has invalid string field 'model'"
    ],
    ["/publishers/anthropic/models/count-tokens:rawPredict", undefined, '{"model":"claude"}', "body claude"]
  ] as const)("%s", (path, type, body, expected) => {
    assert.strictEqual(ask(path, type, body), expected)
  })

  it("a refusal is a complete answer in the shape of OpenAI's errors", () => {
    assert.deepStrictEqual(JSON.parse(refusal("model_not_found").body), {
      error: { message: "Model not found", type: "invalid_request_error", code: "model_not_found" }
    })
    assert.strictEqual(
      virtualTargetNotFound("v", "t").message,
      "Virtual model v selected target t, but no matching model was found"
    )
    assert.strictEqual(virtualTargetNotFound("v", "t").status, 404)
  })
})
