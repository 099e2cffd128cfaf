/**
 * What is asked in every cell of the matrix, in the words of no provider, and what the farm answers. The clients write it in the words of
 * their API; the farm reads it in the words of its own.
 */

export interface Call {
  readonly id: string
  readonly name: string
  readonly input: Readonly<Record<string, string>>
}

export type Turn =
  | { readonly user: string; readonly image?: string }
  | { readonly calls: ReadonlyArray<Call> }
  | { readonly results: ReadonlyArray<{ readonly call: Call; readonly text: string }> }

export interface Question {
  readonly system?: string
  readonly turns: ReadonlyArray<Turn>
  readonly tools?: ReadonlyArray<string>
}

/** What a model says. */
export interface Said {
  readonly reasoning?: string
  readonly text: string
  readonly calls: ReadonlyArray<Omit<Call, "id">>
  readonly ending: "end" | "tools" | "length"
}

export interface Scenario {
  readonly name: string
  readonly question: Question
  readonly says: Said
}

const weather: Call = { id: "call_w", name: "weather", input: { city: "Bern" } }
const time: Call = { id: "call_t", name: "time", input: { city: "Oslo" } }

/** A red dot. */
export const image = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg=="

const text = (said: string, ending: Said["ending"] = "end"): Said => ({ text: said, calls: [], ending })
const calling = (...calls: ReadonlyArray<Call>): Said => ({
  text: "",
  calls: calls.map(({ name, input }) => ({ name, input })),
  ending: "tools"
})

export const scenarios: ReadonlyArray<Scenario> = [
  { name: "text", question: { turns: [{ user: "plain words" }] }, says: text("Hi there, how are you today? 😀") },
  {
    name: "system",
    question: { system: "Answer like a pirate.", turns: [{ user: "who are you" }] },
    says: text("Arr, a pirate.")
  },
  {
    name: "cut short",
    question: { turns: [{ user: "tell a long story" }] },
    says: text("Once upon a time there was", "length")
  },
  {
    name: "tool call",
    question: { turns: [{ user: "one call" }], tools: ["weather"] },
    says: calling(weather)
  },
  {
    name: "parallel calls",
    question: { turns: [{ user: "two calls" }], tools: ["weather", "time"] },
    says: calling(weather, time)
  },
  {
    name: "text and call",
    question: { turns: [{ user: "say and call" }], tools: ["weather"] },
    says: { ...calling(weather), text: "Let me look." }
  },
  {
    name: "tool results",
    question: {
      turns: [
        { user: "bring results" },
        { calls: [weather, time] },
        {
          results: [
            { call: weather, text: "sunny" },
            { call: time, text: "nine" }
          ]
        }
      ],
      tools: ["weather", "time"]
    },
    says: text("It is sunny in Bern, and nine in Oslo.")
  },
  {
    name: "reasoning",
    question: { turns: [{ user: "think hard" }] },
    says: { ...text("Forty-two."), reasoning: "Six by nine, perhaps." }
  },
  { name: "image", question: { turns: [{ user: "what is this", image }] }, says: text("A red dot.") }
]

/** Tokens of every answer. */
export const used = { input: 11, output: 7 } as const

export interface Refusal {
  readonly name: string
  readonly prompt: string
  readonly status: number
  readonly message: string
}

export const refusals: ReadonlyArray<Refusal> = [
  { name: "400", prompt: "ask wrongly", status: 400, message: "that makes no sense" },
  { name: "401", prompt: "ask as nobody", status: 401, message: "no such key" },
  { name: "429", prompt: "ask too often", status: 429, message: "slow down" },
  { name: "500", prompt: "ask for trouble", status: 500, message: "it broke" }
]

/** Streams that begin, and do not end as they should. */
export const breaks = [
  { name: "cut in mid-stream", prompt: "hang up on me" },
  { name: "error in mid-stream", prompt: "apologise to me", message: "the model fell over" }
] as const

export const asking = (prompt: string): Question => ({ turns: [{ user: prompt }] })
