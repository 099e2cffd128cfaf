/**
 * Fail-open: conversations with a word that guards look for, paths by which they might be sent past the guards, and answers,
 * streams and errors that say the word. Whatever the gateway does with them, the provider, or the client, must not get the
 * word; what is harmless gets through.
 */
import { gunzipSync } from "node:zlib"
import { Effect } from "effect"
import { type Asked, json, startProvider } from "../outside/llm/provider.ts"
import { startHeadgate } from "../outside/llm/running.ts"
import { attack } from "./attack.ts"
import { greeting, greetings, type Said, said } from "./guarded-answers.ts"
import { elsewhere, opened, spellings } from "./guarded-paths.ts"
import { harmless, ofUser, shapes, untouched } from "./guarded-prompts.ts"
import { type Body, type Format, formats, word } from "./guarded-words.ts"

const pathOf = (format: Format, model: string): string =>
  ({
    completions: "/v1/chat/completions",
    messages: "/v1/messages",
    responses: "/v1/responses",
    generateContent: `/v1beta/models/${model}:generateContent`
  })[format]

const guards = ["rejects", "masks", "asks"] as const
/** All kinds of models: those, one whose provider may be asked anything, and those that guard what is answered. */
const kinds = [...guards, "opens", "refuses", "hides"] as const

interface Asking {
  readonly title: string
  readonly kind: "prompt" | "untouched" | "answer" | "path" | "harmless"
  readonly model: string
  readonly path: string
  readonly body: Body
  readonly headers?: Readonly<Record<string, string>> | undefined
  readonly said?: Said
}

const prompts = formats.flatMap((format) =>
  shapes[format].flatMap(({ name, body, tools, headers, model: provider = format }) =>
    guards
      .filter((guard) => tools === undefined || guard !== "asks")
      .map((guard): Asking => {
        const model = `${guard}-${provider}`
        return {
          title: `${format}, a guard that ${guard}: ${name}`,
          kind: "prompt",
          model,
          path: pathOf(format, model),
          body,
          headers
        }
      })
  )
)

const paths = ["rejects", "opens"].flatMap((guard) =>
  spellings
    .filter((path) => guard === "rejects" || !opened.has(path))
    .map(
      (path): Asking => ({
        title: `a model that ${guard}: ${path}`,
        kind: "path",
        model: `${guard}-completions`,
        path,
        body: { ...ofUser(word), input: word }
      })
    )
)

const aside = elsewhere.map(
  (path): Asking => ({
    title: `a provider with one path for all: ${path}`,
    kind: "path",
    model: "narrow",
    path,
    body: { ...ofUser(word), input: word, query: word, documents: [word] }
  })
)

const answers = said.flatMap((one) =>
  (one.events === undefined ? ["refuses", "hides"] : ["refuses"]).map((guard): Asking => {
    const model = `${guard}-${one.format}`
    const stream = one.events !== undefined
    const path = pathOf(one.format, model)
    return {
      title: `${one.format}, a guard that ${guard} what is ${stream ? "streamed" : "said"}: ${one.name}`,
      kind: "answer",
      model,
      path,
      body: { ...harmless[one.format], ...(stream && { stream }) },
      said: one
    }
  })
)

const masked = untouched.map(
  ([name, format, body]): Asking => ({
    title: `${format}, untouched: ${name}`,
    kind: "untouched",
    model: `masks-${format}`,
    path: pathOf(format, `masks-${format}`),
    body
  })
)

/** Who refuses everything leaks nothing either: through each guard in each format comes what it does not mind. */
const passing = [
  ...kinds.flatMap((guard) => formats.map((format) => ({ title: `${format}, a guard that ${guard}`, guard, format }))),
  { title: "a provider with one path for all", guard: "narrow", format: "completions" as const }
].map(({ title, guard, format }): Asking => {
  const model = guard === "narrow" ? guard : `${guard}-${format}`
  return {
    title: `${title}: what is harmless`,
    kind: "harmless",
    model,
    path: pathOf(format, model),
    body: harmless[format],
    said: greetings[format]
  }
})

const bodyOf = ({ body, model }: Asking): string | Uint8Array<ArrayBuffer> =>
  typeof body === "function" ? body(model) : JSON.stringify({ model, ...body })

/** The texts of a body as whoever reads it may put them together. */
const textsOf = (value: unknown, key = ""): string => {
  if (typeof value === "string") return key === "type" || key === "role" ? "" : value
  if (typeof value !== "object" || value === null) return ""
  return Object.entries(value)
    .map(([name, member]) => textsOf(member, Array.isArray(value) ? key : name))
    .join("")
}

const holdsWord = (text: string): boolean => {
  if (text.toLowerCase().includes(word)) return true
  try {
    return textsOf(JSON.parse(text)).includes(word) || JSON.stringify(JSON.parse(text)).includes(word)
  } catch {
    return false
  }
}

/** Whether a provider that undoes codings and knows UTF-16 finds the word in what it was asked. */
const asksWord = ({ path, headers, bytes }: Asked): boolean => {
  const plain = headers["content-encoding"] === "gzip" ? gunzipSync(bytes) : bytes
  return holdsWord(path) || holdsWord(plain.toString("utf8")) || holdsWord(plain.toString("utf8").replaceAll("\0", ""))
}

const configuration = (port: number, provider: string, hook: number): string => {
  const rule = (action: string, scope = "") =>
    `[{ regex: { action: ${action}, rules: [{ pattern: ${word} }] }${scope} }]`
  const all = ", scope: [systemPrompt, messages, toolOutput, toolInput]"
  const guarding: Readonly<Record<(typeof kinds)[number], string>> = {
    rejects: `guardrails: { request: ${rule("reject", all)} }`,
    opens: `passthrough: opaque, guardrails: { request: ${rule("reject", all)} }`,
    masks: `guardrails: { request: ${rule("mask", all)} }`,
    asks: `guardrails: { request: [{ webhook: { target: { host: "127.0.0.1:${hook}" } } }] }`,
    refuses: `guardrails: { streaming: Enabled, response: ${rule("reject")} }`,
    hides: `guardrails: { response: ${rule("mask")} }`
  }
  const providers: Readonly<Record<Format, string>> = {
    completions: `provider: openai, params: { apiKey: k, baseUrl: "${provider}/v1" }`,
    messages: `provider: anthropic, params: { apiKey: k, baseUrl: "${provider}/v1" }`,
    responses: `provider: openai, params: { apiKey: k, baseUrl: "${provider}/v1" }`,
    generateContent: `provider: gemini, params: { apiKey: k, baseUrl: "${provider}" }`
  }
  const models = kinds.flatMap((kind) =>
    formats.map((format) => `    - { name: ${kind}-${format}, ${providers[format]}, ${guarding[kind]} }`)
  )
  const narrow = `    - { name: narrow, provider: openai, params: { apiKey: k, baseUrl: "${provider}", pathOverride: /v1/chat/completions }, passthrough: opaque, ${guarding.rejects} }`
  return `llm:\n  port: ${port}\n  models:\n${[...models, narrow].join("\n")}\n`
}

const running = <A extends { readonly stop: () => Promise<void> }>(start: () => Promise<A>) =>
  Effect.acquireRelease(Effect.promise(start), (one) => Effect.promise(one.stop))

export const guardedConversations = attack<Asking>({
  class: "fail-open",
  name: "guarded conversations",
  proves: "what a guard looks for reaches neither provider nor client, in whatever shape and by whatever path it comes",
  cases: [...prompts, ...paths, ...aside, ...answers, ...masked, ...passing],
  open: Effect.gen(function* () {
    let say: Said | undefined
    const provider = yield* running(() =>
      startProvider((_, response) => {
        if (say?.events !== undefined) {
          response.writeHead(200, { "content-type": "text/event-stream" })
          for (const event of say.events)
            response.write(`data: ${typeof event === "string" ? event : JSON.stringify(event)}\n\n`)
          response.end()
        } else if (say?.answer !== undefined) {
          const { answer, status = 200, type = "application/json" } = say
          response
            .writeHead(status, { "content-type": type })
            .end(typeof answer === "string" ? answer : JSON.stringify(answer))
        } else json(response, { error: { message: "nothing to say" } }, 400)
      })
    )
    // It joins what it is shown as a reader would, and refuses what has the word in it.
    const hook = yield* running(() =>
      startProvider((asked, response) => {
        const { messages: shown } = JSON.parse(asked.body).body as {
          readonly messages: ReadonlyArray<{ readonly content: string }>
        }
        const found = shown.some(({ content }) => content.replace(/\s/g, "").includes(word))
        json(response, { action: found ? { body: "no", status_code: 403 } : {} })
      })
    )
    const gate = yield* running(() => startHeadgate((port) => configuration(port, provider.url, hook.port)))
    return (one) =>
      Effect.promise(async () => {
        say = one.said
        const before = provider.asked.length
        const response = await fetch(`${gate.url}${one.path}`, {
          method: "POST",
          headers: { "content-type": "application/json", ...one.headers },
          body: bodyOf(one),
          redirect: "manual"
        })
        const text = await response.text()
        const sent = provider.asked.slice(before)
        if (one.kind === "harmless") {
          if (response.status !== 200 || sent.length !== 1 || !text.includes(greeting))
            throw new Error(`the provider was asked ${sent.length} times, the client got ${response.status} ${text}`)
          return
        }
        if (one.kind === "untouched") {
          // The model of Gemini stands in the path.
          const expected = one.path.includes(one.model) ? one.body : { model: one.model, ...(one.body as object) }
          const [got] = sent.map(({ body }) => JSON.parse(body))
          if (JSON.stringify(got) !== JSON.stringify(expected))
            throw new Error(`the provider got ${JSON.stringify(got)} (${response.status} ${text})`)
          return
        }
        if (one.kind === "answer") {
          if (sent.length === 0) throw new Error(`the provider was not asked: ${response.status} ${text}`)
          const events = text
            .split("\n")
            .flatMap((line) => (line.startsWith("data: {") ? [JSON.parse(line.slice(6))] : []))
          if (holdsWord(text) || textsOf(events).includes(word) || textsOf(events).replaceAll("-", "").includes(word))
            throw new Error(`the client got ${response.status} ${text}`)
          return
        }
        const leaked = sent.find(asksWord)
        if (leaked !== undefined) throw new Error(`the provider got ${leaked.path} ${leaked.body}`)
      })
  })
})
