import { assert, it } from "@effect/vitest"
import { modelList } from "./model-list.ts"

it("models are listed as OpenAI lists them", () => {
  assert.deepStrictEqual(modelList(["a", "gpt-*"], 5), {
    data: [
      { id: "a", object: "model", created: 5, owned_by: "openai" },
      { id: "gpt-*", object: "model", created: 5, owned_by: "openai" }
    ],
    object: "list"
  })
})
