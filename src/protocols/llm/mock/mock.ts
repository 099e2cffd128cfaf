/** One call to the mock provider: by format, or a failure. */
import type { JsonObject } from "../formats/json.ts"
import { modelList } from "../models/list.ts"
import { completions } from "./completions.ts"
import { embeddings } from "./embeddings.ts"
import { hash, randomFrom } from "./random.ts"
import { responses } from "./responses.ts"
import type { MockCall, MockReply, MockSettings } from "./settings.ts"

export const mockFormats = ["completions", "responses", "embeddings"] as const
export type MockFormat = (typeof mockFormats)[number]

const failureBody = JSON.stringify({
  error: { message: "The mock provider fails as configured", type: "server_error", param: null, code: "mock_failure" }
})

const formats: Readonly<Record<MockFormat, (settings: MockSettings, body: JsonObject, call: MockCall) => MockReply>> = {
  completions,
  responses,
  embeddings
}

/** The answer to a request. Equal settings, bodies and calls get equal answers. Failures are 503s in the shape of OpenAI's errors. */
export const mockReply = (settings: MockSettings, format: MockFormat, body: JsonObject, call: MockCall): MockReply => {
  const fails = randomFrom(hash(`${settings.seed}/${call.sequence}`))() < settings.failureRate
  return fails
    ? { type: "json", status: 503, afterMs: settings.latencyMs, body: failureBody }
    : formats[format](settings, body, call)
}

/** The answer to `GET /v1/models`. */
export const mockModels = (settings: MockSettings, names: ReadonlyArray<string>, { now }: MockCall): MockReply => ({
  type: "json",
  status: 200,
  afterMs: settings.latencyMs,
  body: modelList(names, now)
})
