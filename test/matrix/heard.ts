/** What a provider has heard, as aimock tells it (in the shape of chat completions, whatever API it was asked by), against what was asked. */
import type { Question } from "./scenarios.ts"

interface Heard {
  readonly system: string
  readonly turns: ReadonlyArray<unknown>
  readonly tools: ReadonlyArray<string>
}

interface ToldMessage {
  readonly role: string
  readonly content?: string | null | ReadonlyArray<{ readonly type: string; readonly text?: string }>
  readonly tool_calls?: ReadonlyArray<{ readonly function: { readonly name: string; readonly arguments: string } }>
}
interface Told {
  readonly messages?: ReadonlyArray<ToldMessage>
  readonly tools?: ReadonlyArray<{ readonly function: { readonly name: string; readonly description?: string } }>
}

const textOf = ({ content }: ToldMessage): string =>
  typeof content === "string" ? content : (content ?? []).map(({ text = "" }) => text).join("")

/** Gemini's results are objects. */
const resultOf = (text: string): string =>
  text.startsWith('{"content":') ? (JSON.parse(text) as { readonly content: string }).content : text

export const heardAs = (body: unknown): Heard => {
  const { messages = [], tools = [] } = (body ?? {}) as Told
  const isSystem = ({ role }: ToldMessage) => role === "system" || role === "developer"
  return {
    system: messages.filter(isSystem).map(textOf).join("\n"),
    turns: messages
      .filter((message) => !isSystem(message))
      .flatMap((message): ReadonlyArray<unknown> => {
        if (message.role === "tool") return [{ result: resultOf(textOf(message)) }]
        const calls = (message.tool_calls ?? []).map(({ function: { name, arguments: input } }) => ({
          call: name,
          input: JSON.parse(input) as unknown
        }))
        return calls.length > 0 ? calls : [{ [message.role]: textOf(message) }]
      }),
    tools: tools.map(({ function: { name, description } }) => `${name}: ${description}`)
  }
}

export const toHear = ({ system = "", turns, tools = [] }: Question): Heard => ({
  system,
  turns: turns.flatMap((turn): ReadonlyArray<unknown> => {
    if ("calls" in turn) return turn.calls.map(({ name, input }) => ({ call: name, input }))
    if ("results" in turn) return turn.results.map(({ text }) => ({ result: text }))
    return [{ user: turn.user }]
  }),
  tools: tools.map((name) => `${name}: Tells the ${name} of a city.`)
})
