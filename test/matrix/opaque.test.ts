/** What is forwarded unread: moderations, images, audio, other people's APIs. The library hands out what it does without a gateway. */

import { Buffer } from "node:buffer"
import { LLMock } from "@copilotkit/aimock"
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import OpenAI, { toFile } from "openai"
import { type OpenHeadgate, open } from "../../src/main/library.ts"
import { steady } from "./differences.ts"
import { image } from "./scenarios.ts"

const sound = Buffer.from("not really a sound")
/** Only the gateway knows this key. */
const key = "sk-provider"
const mock = new LLMock({ port: 0, logLevel: "silent", auth: { apiKeys: [key] } })
  .onModerate("kind words", { flagged: false, categories: { violence: false } })
  .onImage("a dot", { image: { b64Json: image } })
  .onSpeech("say it", { audio: sound.toString("base64"), format: "mp3" })
  .onTranscription({ transcription: { text: "what was said" } })
let gateway: OpenHeadgate

beforeAll(async () => {
  await mock.start()
  gateway = await open(
    JSON.stringify({
      llm: {
        port: 4000,
        models: [{ name: "*", provider: "openai", params: { baseUrl: `${mock.url}/v1`, apiKey: key } }]
      }
    }),
    { ephemeral: true, host: "127.0.0.1" }
  )
})
afterAll(async () => {
  await gateway.close()
  await mock.stop()
})

const client = (address: string, apiKey: string) => new OpenAI({ baseURL: `${address}/v1`, apiKey, maxRetries: 0 })

const asked: Readonly<Record<string, (openai: OpenAI) => Promise<unknown>>> = {
  "POST /v1/moderations": ({ moderations }) =>
    moderations.create({ model: "omni-moderation-latest", input: "kind words" }),
  "POST /v1/images/generations": ({ images }) => images.generate({ model: "gpt-image-1", prompt: "a dot" }),
  "POST /v1/images/edits": async ({ images }) =>
    images.edit({
      model: "gpt-image-1",
      prompt: "a dot",
      image: await toFile(Buffer.from(image, "base64"), "dot.png", { type: "image/png" })
    }),
  "POST /v1/audio/speech": async ({ audio }) => {
    const spoken = await audio.speech.create({ model: "tts-1", voice: "alloy", input: "say it" })
    return [spoken.headers.get("content-type"), Buffer.from(await spoken.arrayBuffer()).toString()]
  },
  "POST /v1/audio/transcriptions": async ({ audio }) =>
    audio.transcriptions.create({ model: "whisper-1", file: await toFile(sound, "sound.mp3", { type: "audio/mpeg" }) })
}

describe("the OpenAI client", () => {
  for (const [what, ask] of Object.entries(asked))
    it(`${what} goes through as it is`, async () => {
      const direct = await ask(client(mock.url, key))
      const before = mock.getRequests().length
      const through = await ask(client(`http://127.0.0.1:${gateway.port(4000)}`, "sk-client"))
      assert.deepStrictEqual(steady(through), steady(direct))
      const [sent, ...more] = mock.getRequests().slice(before)
      assert.deepStrictEqual(more, [])
      assert.strictEqual(`${sent?.method} ${sent?.path}`, what)
    })
})
