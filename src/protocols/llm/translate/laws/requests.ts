/** Generated requests of the three client formats, as their JSON bodies. */
import { Arbitrary, Schema } from "effect"
import type { JsonObject } from "../../formats/json.ts"

/** Short texts, some of them hostile (`__proto__`, lone surrogates, blanks). */
export const Text = Schema.String.check(Schema.isMaxLength(8))
const Name = Schema.Literals(["f", "get_weather", "a.b", "a_b", "", "toString", "x".repeat(70)])
const Count = Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 40_000 }))
const Amount = Schema.Literals([0, 0.5, 1])
const few = <S extends Schema.Constraint>(item: S) => Schema.Array(item).check(Schema.isMaxLength(3))
const maybe = <S extends Schema.Constraint>(value: S) => Schema.optionalKey(value)

/**
 * What models write into their calls. The names need no escapes, because V8 14.6 may read an escaped name as that of an object parsed before
 * (`JSON.parse(JSON.stringify(x))` is not `x` then); negative zero has no JSON, either.
 */
export const Input = Schema.Record(
  Schema.String.check(Schema.isPattern(/^[a-z_]{0,4}$/u)),
  Schema.Union([Text, Count, Schema.Null])
)
const JsonSchema = Schema.Struct({
  type: Schema.Literal("object"),
  properties: Schema.Record(
    Schema.Literals(["a", "b"]),
    Schema.Struct({ type: Schema.Literals(["string", "integer"]), description: maybe(Text) })
  )
})

const CompletionsText = Schema.Struct({ type: Schema.Literal("text"), text: Text })
const CompletionsImage = Schema.Struct({
  type: Schema.Literal("image_url"),
  image_url: Schema.Struct({ url: Schema.Literals(["data:image/png;base64,AA", "data:image/jpeg;base64,BB"]) })
})
const CompletionsTool = Schema.Struct({
  type: Schema.Literal("function"),
  function: Schema.Struct({ name: Name, description: maybe(Text), parameters: JsonSchema })
})

/** `{…, input: object}` stands for a call whose arguments are the JSON text of the object. */
const GeneratedCall = Schema.Struct({ id: Schema.Literals(["c1", "c2", "c3"]), name: Name, input: Input })

const completionsMessage = Schema.Union([
  Schema.Struct({
    role: Schema.Literals(["system", "developer"]),
    content: Schema.Union([Text, few(CompletionsText)])
  }),
  Schema.Struct({
    role: Schema.Literal("user"),
    content: Schema.Union([Text, few(Schema.Union([CompletionsText, CompletionsImage]))])
  }),
  Schema.Struct({
    role: Schema.Literal("assistant"),
    content: Schema.Union([Text, Schema.Null, few(CompletionsText)]),
    calls: few(GeneratedCall)
  }),
  Schema.Struct({
    role: Schema.Literal("tool"),
    tool_call_id: Schema.Literals(["c1", "c2", "c3"]),
    content: Schema.Union([Text, few(CompletionsText)])
  })
])

const completionsRequest = Schema.Struct({
  model: Schema.Literals(["m", "gpt-5.6", "claude-x"]),
  messages: Schema.Array(completionsMessage).check(Schema.isMaxLength(5)),
  tools: maybe(few(CompletionsTool)),
  tool_choice: maybe(
    Schema.Union([
      Schema.Literals(["auto", "none", "required"]),
      Schema.Struct({ type: Schema.Literal("function"), function: Schema.Struct({ name: Name }) })
    ])
  ),
  parallel_tool_calls: maybe(Schema.Boolean),
  max_tokens: maybe(Count),
  temperature: maybe(Amount),
  top_p: maybe(Amount),
  stop: maybe(Schema.Union([Text, few(Text)])),
  user: maybe(Text),
  stream: maybe(Schema.Boolean),
  reasoning_effort: maybe(Schema.Literals(["none", "minimal", "low", "medium", "high", "xhigh", "max"])),
  response_format: maybe(
    Schema.Struct({
      type: Schema.Literal("json_schema"),
      json_schema: Schema.Struct({ name: Text, schema: JsonSchema })
    })
  )
})

export const completionsRequests: Arbitrary.Arbitrary<JsonObject> = Arbitrary.map(
  Arbitrary.schema(completionsRequest),
  (body) => ({
    ...body,
    messages: body.messages.map((message) => {
      if (message.role !== "assistant") return message
      const { calls, ...rest } = message
      const tool_calls = calls.map(({ id, name, input }) => ({
        id,
        type: "function",
        function: { name, arguments: JSON.stringify(input) }
      }))
      return tool_calls.length > 0 ? { ...rest, tool_calls } : rest
    })
  })
)

const Mark = Schema.Struct({ type: Schema.Literal("ephemeral") })
const MessagesText = Schema.Struct({ type: Schema.Literal("text"), text: Text, cache_control: maybe(Mark) })
const MessagesImage = Schema.Struct({
  type: Schema.Literal("image"),
  source: Schema.Struct({
    type: Schema.Literal("base64"),
    media_type: Schema.Literals(["image/png", "image/jpeg"]),
    data: Schema.Literals(["AA", "BB"])
  })
})
const MessagesResult = Schema.Struct({
  type: Schema.Literal("tool_result"),
  tool_use_id: Schema.Literals(["c1", "c2", "c3"]),
  content: Schema.Union([Text, few(MessagesText)]),
  is_error: maybe(Schema.Boolean)
})
const MessagesCall = Schema.Struct({
  type: Schema.Literal("tool_use"),
  id: Schema.Literals(["c1", "c2", "c3"]),
  name: Name,
  input: Input
})

const messagesRequest = Schema.Struct({
  model: Schema.Literals(["m", "gpt-5.6", "claude-x"]),
  max_tokens: Count,
  system: maybe(Schema.Union([Text, few(MessagesText)])),
  messages: Schema.Array(
    Schema.Union([
      Schema.Struct({
        role: Schema.Literal("user"),
        content: Schema.Union([Text, few(Schema.Union([MessagesText, MessagesImage, MessagesResult]))])
      }),
      Schema.Struct({
        role: Schema.Literal("assistant"),
        content: Schema.Union([Text, few(Schema.Union([MessagesText, MessagesCall]))])
      })
    ])
  ).check(Schema.isMaxLength(5)),
  tools: maybe(few(Schema.Struct({ name: Name, description: maybe(Text), input_schema: JsonSchema }))),
  tool_choice: maybe(
    Schema.Union([
      Schema.Struct({
        type: Schema.Literals(["auto", "any"]),
        disable_parallel_tool_use: maybe(Schema.Boolean)
      }),
      Schema.Struct({ type: Schema.Literal("none") }),
      Schema.Struct({ type: Schema.Literal("tool"), name: Name })
    ])
  ),
  temperature: maybe(Amount),
  top_p: maybe(Amount),
  stop_sequences: maybe(few(Text)),
  stream: maybe(Schema.Boolean)
})

export const messagesRequests: Arbitrary.Arbitrary<JsonObject> = Arbitrary.schema(messagesRequest)

const ResponsesText = Schema.Struct({ type: Schema.Literal("input_text"), text: Text })
const responsesRequest = Schema.Struct({
  model: Schema.Literals(["m", "gpt-5.6"]),
  instructions: maybe(Text),
  input: Schema.Union([
    Text,
    Schema.Array(
      Schema.Union([
        Schema.Struct({
          type: Schema.Literal("message"),
          role: Schema.Literals(["user", "system", "developer"]),
          content: few(ResponsesText)
        }),
        Schema.Struct({ role: Schema.Literals(["user", "assistant", "system"]), content: Text }),
        Schema.Struct({
          type: Schema.Literal("function_call"),
          call_id: Schema.Literals(["c1", "c2", "c3"]),
          name: Name,
          input: Input
        }),
        Schema.Struct({
          type: Schema.Literal("function_call_output"),
          call_id: Schema.Literals(["c1", "c2", "c3"]),
          output: Text
        })
      ])
    ).check(Schema.isMaxLength(6))
  ]),
  tools: maybe(
    few(
      Schema.Struct({ type: Schema.Literal("function"), name: Name, description: maybe(Text), parameters: JsonSchema })
    )
  ),
  tool_choice: maybe(
    Schema.Union([
      Schema.Literals(["auto", "none", "required"]),
      Schema.Struct({ type: Schema.Literal("function"), name: Name })
    ])
  ),
  parallel_tool_calls: maybe(Schema.Boolean),
  max_output_tokens: maybe(Count),
  temperature: maybe(Amount),
  top_p: maybe(Amount),
  stream: maybe(Schema.Boolean)
})

export const responsesRequests: Arbitrary.Arbitrary<JsonObject> = Arbitrary.map(
  Arbitrary.schema(responsesRequest),
  (body) => ({
    ...body,
    input:
      typeof body.input === "string"
        ? body.input
        : body.input.map((item) => {
            if (!("input" in item)) return item
            const { input, ...rest } = item
            return { ...rest, arguments: JSON.stringify(input) }
          })
  })
)
