/** What a guard looks for, in every place and spelling that a format of conversations leaves room for; and what is no text, beside it. */
import { gzipSync } from "node:zlib"
import { type Body, escaped, type Format, fish, sword, word } from "./guarded-words.ts"

export interface Shape {
  readonly name: string
  readonly body: Body
  /** In scopes that are not read unless configuration says so, and never shown to a webhook. */
  readonly tools?: true
  readonly headers?: Readonly<Record<string, string>>
  /** Of a model that is spoken to in another format than its provider's. */
  readonly model?: Format
}

const image = { type: "image_url", image_url: { url: "https://images.example/1.png" } }
export const ofUser = (content: unknown, more: object = {}) => ({ messages: [{ role: "user", content, ...more }] })
const hello = ofUser("hello")
const ofAssistant = (more: object) => ({ messages: [{ role: "assistant", content: null, ...more }] })
const call = (more: object) => ofAssistant({ tool_calls: [{ id: "c", type: "function", ...more }] })
const raw =
  (text: string): Body =>
  (model) =>
    `{"model":"${model}",${text}}`

const completions: ReadonlyArray<Shape> = [
  { name: "a string", body: ofUser(`a ${word} b`) },
  { name: "a text part", body: ofUser([{ type: "text", text: word }]) },
  { name: "a part of the type input_text", body: ofUser([{ type: "input_text", text: word }]) },
  { name: "a part of an unknown type", body: ofUser([{ type: "utterance", text: word }]) },
  { name: "another member of an unknown part", body: ofUser([{ type: "utterance", said: { now: word } }]) },
  { name: "another member of a text part", body: ofUser([{ type: "text", text: "hi", said: word }]) },
  { name: "a part without a type", body: ofUser([{ text: word }]) },
  { name: "a part whose type is no string", body: ofUser([{ type: 7, text: word }]) },
  { name: "a string in a list of parts", body: ofUser([word]) },
  { name: "a list in a list of parts", body: ofUser([[[{ type: "text", text: word }]]]) },
  { name: "content that is an object", body: ofUser({ type: "text", text: word }) },
  { name: "text that is an object", body: ofUser([{ type: "text", text: { value: word } }]) },
  { name: "text that is a list", body: ofUser([{ type: "text", text: [word] }]) },
  { name: "messages that are a string", body: { messages: word } },
  { name: "messages that are an object", body: { messages: { role: "user", content: word } } },
  { name: "a message that is a string", body: { messages: [word] } },
  { name: "a message in a list of its own", body: { messages: [[{ role: "user", content: word }]] } },
  { name: "a system message", body: { messages: [{ role: "system", content: word }] } },
  {
    name: "a developer's message in parts",
    body: { messages: [{ role: "developer", content: [{ type: "text", text: word }] }] }
  },
  { name: "a message of an unknown role", body: { messages: [{ role: "narrator", content: word }] } },
  { name: "a message of the role Tool", body: { messages: [{ role: "Tool", content: word }] } },
  { name: "a message without a role", body: { messages: [{ content: word }] } },
  { name: "a refusal", body: ofAssistant({ refusal: word }) },
  { name: "a part that refuses", body: ofAssistant({ content: [{ type: "refusal", refusal: word }] }) },
  { name: "reasoning_content", body: ofAssistant({ reasoning_content: word }) },
  { name: "a detail of the reasoning", body: ofAssistant({ reasoning_details: [{ type: "text", text: word }] }) },
  { name: "a name with blanks", body: ofUser("hello", { name: `my ${word}` }) },
  { name: "an id with blanks", body: { messages: [{ role: "user", tool_call_id: `my ${word}`, content: "hello" }] } },
  { name: "a file's name with blanks", body: ofUser([{ type: "file", file: { filename: `my ${word}.txt` } }]) },
  { name: "data that is no base64", body: ofUser([{ type: "input_audio", input_audio: { data: `my ${word}!` } }]) },
  { name: "an address that is none", body: ofUser([{ type: "image_url", image_url: { url: `my ${word}` } }]) },
  { name: "an address in the place of its object", body: ofUser([{ type: "image_url", image_url: word }]) },
  {
    name: "the word split over two parts",
    body: ofUser([
      { type: "text", text: `a ${sword}` },
      { type: "text", text: `${fish} b` }
    ])
  },
  {
    name: "the word split over three parts",
    body: ofUser(["swo", "rdf", "ish"].map((text) => ({ type: "text", text })))
  },
  {
    name: "the word split over parts of other types",
    body: ofUser([{ text: sword }, { type: "input_text", text: fish }])
  },
  { name: "the word split over strings", body: ofUser([sword, fish]) },
  {
    name: "the word split around an image",
    body: ofUser([{ type: "text", text: sword }, image, { type: "text", text: fish }])
  },
  {
    name: "a tool's description",
    body: { ...hello, tools: [{ type: "function", function: { name: "f", description: word } }] }
  },
  {
    name: "the description of a tool's parameter",
    body: {
      ...hello,
      tools: [
        {
          type: "function",
          function: {
            name: "f",
            parameters: { type: "object", properties: { type: { type: "string", description: word } } }
          }
        }
      ]
    }
  },
  {
    name: "a value that a tool's parameter may have",
    body: {
      ...hello,
      tools: [{ type: "function", function: { name: "f", parameters: { properties: { a: { enum: [word] } } } } }]
    }
  },
  {
    name: "a tool's name with blanks",
    body: { ...hello, tools: [{ type: "function", function: { name: `my ${word}` } }] }
  },
  { name: "a function's description", body: { ...hello, functions: [{ name: "f", description: word }] } },
  {
    name: "the grammar of a custom tool",
    body: {
      ...hello,
      tools: [{ type: "custom", custom: { name: "f", format: { type: "grammar", grammar: { definition: word } } } }]
    }
  },
  { name: "arguments", body: call({ function: { name: "f", arguments: `{"a":"${word}"}` } }), tools: true },
  {
    name: "arguments with an escape",
    body: call({ function: { name: "f", arguments: `{"a":"${escaped}"}` } }),
    tools: true
  },
  {
    name: "a key in arguments with an escape",
    body: call({ function: { name: "f", arguments: `{"${escaped}":1}` } }),
    tools: true
  },
  {
    name: "arguments that are an object",
    body: call({ function: { name: "f", arguments: { a: word } } }),
    tools: true
  },
  { name: "the input of a custom tool", body: call({ custom: { name: "f", input: word } }), tools: true },
  {
    name: "the arguments of a function call",
    body: ofAssistant({ function_call: { name: "f", arguments: word } }),
    tools: true
  },
  { name: "a tool's answer", body: { messages: [{ role: "tool", tool_call_id: "c", content: word }] }, tools: true },
  {
    name: "the answer's schema",
    body: {
      ...hello,
      response_format: { type: "json_schema", json_schema: { name: "a", schema: { description: word } } }
    }
  },
  { name: "a prediction", body: { ...hello, prediction: { type: "content", content: word } } },
  {
    name: "a prediction in parts",
    body: {
      ...hello,
      prediction: {
        type: "content",
        content: [
          { type: "text", text: sword },
          { type: "text", text: fish }
        ]
      }
    }
  },
  { name: "an unknown member of a message", body: ofUser("hello", { aside: [{ deep: word }] }) },
  { name: "an unknown member of the body", body: { ...hello, aside: word } },
  { name: "metadata", body: { ...hello, metadata: { note: word } } },
  { name: "words to stop at", body: { ...hello, stop: [word] } },
  { name: "a key with blanks of an unknown object", body: ofUser({ [`my ${word}`]: 1 }) },
  { name: "a user with blanks", body: { ...hello, user: `my ${word}` } },
  { name: "an escape of JSON", body: raw(`"messages":[{"role":"user","content":"${escaped}"}]`) },
  { name: "messages twice", body: raw(`"messages":[{"role":"user","content":"${word}"}],"messages":[]`) },
  {
    name: "messages twice, the other way round",
    body: raw(`"messages":[],"messages":[{"role":"user","content":"${word}"}]`)
  },
  {
    name: "messages twice, once with an escape",
    body: raw(`"\\u006dessages":[{"role":"user","content":"${word}"}],"messages":[]`)
  },
  { name: "content twice", body: raw(`"messages":[{"role":"user","content":"${word}","content":"hello"}]`) },
  { name: "a role twice", body: raw(`"messages":[{"role":"user","role":"tool","content":"${word}"}]`) },
  { name: "a prototype", body: raw(`"__proto__":{"a":"${word}"},"messages":[{"__proto__":{"content":"${word}"}}]`) },
  {
    name: "more levels than anybody looks into",
    body: raw(`"messages":[],"a":${"[".repeat(400)}"${word}"${"]".repeat(400)}`)
  },
  { name: "JSON that is none", body: raw(`"messages":[{"content":"${word}"}`) },
  { name: "a byte order mark", body: (model) => `\ufeff{"model":"${model}","messages":[{"content":"${word}"}]}` },
  {
    name: "UTF-16",
    body: (model) => Buffer.from(`{"model":"${model}","messages":[{"content":"${word}"}]}`, "utf16le")
  },
  {
    name: "bytes that are no UTF-8",
    body: (model) => Buffer.from(`{"model":"${model}","messages":[{"content":"\xff${word}"}]}`, "latin1")
  },
  {
    name: "the content type of a form",
    body: ofUser(word),
    headers: { "content-type": "application/x-www-form-urlencoded" }
  },
  {
    name: "the content type of a form in parts",
    body: ofUser(word),
    headers: { "content-type": "multipart/form-data; boundary=a" }
  },
  { name: "another charset", body: ofUser(word), headers: { "content-type": "application/json; charset=utf-16" } },
  {
    name: "a content coding",
    body: (model) => gzipSync(`{"model":"${model}","messages":[{"content":"${word}"}]}`),
    headers: { "content-encoding": "gzip" }
  },
  { name: "an unknown content coding", body: ofUser(word), headers: { "content-encoding": "odd" } }
]

const blocks = (...content: ReadonlyArray<unknown>) => ofUser(content)
const messages: ReadonlyArray<Shape> = [
  { name: "a string", body: ofUser(word) },
  { name: "a text block", body: blocks({ type: "text", text: word }) },
  { name: "the system prompt", body: { ...hello, system: word } },
  { name: "a block of the system prompt", body: { ...hello, system: [{ type: "text", text: word }] } },
  { name: "a system prompt that is an object", body: { ...hello, system: { text: word } } },
  {
    name: "the word split over blocks of the system prompt",
    body: {
      ...hello,
      system: [
        { type: "text", text: sword },
        { type: "text", text: fish }
      ]
    }
  },
  { name: "the word split over blocks", body: blocks({ type: "text", text: sword }, { type: "text", text: fish }) },
  { name: "the word split over blocks and a string", body: blocks({ type: "text", text: sword }, fish) },
  { name: "a block without a type", body: blocks({ text: word }) },
  { name: "a block of an unknown type", body: blocks({ type: "utterance", said: word }) },
  {
    name: "forged thinking",
    body: { messages: [{ role: "assistant", content: [{ type: "thinking", thinking: word, signature: "a" }] }] }
  },
  {
    name: "forged thinking that is translated",
    body: {
      max_tokens: 9,
      messages: [
        { role: "user", content: "a" },
        {
          role: "assistant",
          content: [
            { type: "thinking", thinking: word, signature: "a" },
            { type: "text", text: "b" }
          ]
        }
      ]
    },
    model: "completions"
  },
  { name: "sealed thinking that is none", body: blocks({ type: "redacted_thinking", data: `my ${word}` }) },
  {
    name: "a document's text",
    body: blocks({ type: "document", source: { type: "text", media_type: "text/plain", data: word } })
  },
  { name: "a document's source without a type", body: blocks({ type: "document", source: { data: word } }) },
  {
    name: "a document's title",
    body: blocks({ type: "document", title: word, source: { type: "url", url: "https://a.example" } })
  },
  { name: "a document's context", body: blocks({ type: "document", context: word }) },
  {
    name: "a document in blocks",
    body: blocks({
      type: "document",
      source: {
        type: "content",
        content: [
          { type: "text", text: sword },
          { type: "text", text: fish }
        ]
      }
    })
  },
  {
    name: "a search result",
    body: blocks({
      type: "search_result",
      source: "https://a.example",
      title: "a",
      content: [{ type: "text", text: word }]
    })
  },
  { name: "the source of a search result", body: blocks({ type: "search_result", source: `my ${word}`, content: [] }) },
  {
    name: "a citation",
    body: blocks({ type: "text", text: "a", citations: [{ type: "char_location", cited_text: word }] })
  },
  {
    name: "an image that is none",
    body: blocks({ type: "image", source: { type: "base64", media_type: "image/png", data: `my ${word}` } })
  },
  {
    name: "the input of a call",
    body: blocks({ type: "tool_use", id: "t", name: "f", input: { a: [word] } }),
    tools: true
  },
  {
    name: "the type in the input of a call",
    body: blocks({ type: "tool_use", id: "t", name: "f", input: { type: word } }),
    tools: true
  },
  {
    name: "an image in the input of a call",
    body: blocks({ type: "tool_use", id: "t", name: "f", input: { type: "base64", data: word } }),
    tools: true
  },
  { name: "a tool's result", body: blocks({ type: "tool_result", tool_use_id: "t", content: word }), tools: true },
  {
    name: "a tool's result in blocks",
    body: blocks({
      type: "tool_result",
      tool_use_id: "t",
      content: [
        { type: "text", text: sword },
        { type: "text", text: fish }
      ]
    }),
    tools: true
  },
  {
    name: "a tool's result of an unknown shape",
    body: blocks({ type: "tool_result", tool_use_id: "t", content: { a: { b: word } } }),
    tools: true
  },
  {
    name: "what the web said",
    body: blocks({
      type: "web_search_tool_result",
      tool_use_id: "t",
      content: [{ type: "web_search_result", title: word }]
    }),
    tools: true
  },
  { name: "a tool's description", body: { ...hello, tools: [{ name: "f", description: word, input_schema: {} }] } },
  {
    name: "the schema of a tool",
    body: { ...hello, tools: [{ name: "f", input_schema: { properties: { a: { description: word } } } }] }
  },
  { name: "an example of a tool", body: { ...hello, tools: [{ name: "f", input_examples: [{ a: word }] }] } },
  { name: "a user's id with blanks", body: { ...hello, metadata: { user_id: `my ${word}` } } },
  { name: "words to stop at", body: { ...hello, stop_sequences: [word] } },
  { name: "messages that are an object", body: { messages: { role: "user", content: word } } },
  { name: "content twice", body: raw(`"messages":[{"role":"user","content":"${word}","content":"hello"}]`) }
]

const item = (more: object) => ({ input: [{ role: "user", ...more }] })
const responses: ReadonlyArray<Shape> = [
  { name: "a string", body: { input: word } },
  { name: "instructions", body: { input: "hi", instructions: word } },
  {
    name: "instructions in items",
    body: { input: "hi", instructions: [{ role: "system", content: [{ type: "input_text", text: word }] }] }
  },
  { name: "a text part", body: item({ content: [{ type: "input_text", text: word }] }) },
  { name: "a part without a type", body: item({ content: [{ text: word }] }) },
  { name: "an item that is a string", body: { input: [word] } },
  { name: "an item that is a part", body: { input: [{ type: "input_text", text: word }] } },
  { name: "an item of an unknown type", body: { input: [{ type: "utterance", said: word }] } },
  { name: "input that is an object", body: { input: { role: "user", content: word } } },
  {
    name: "the content of an item that has none",
    body: { input: [{ type: "item_reference", id: "i", content: word }] }
  },
  {
    name: "a refusal",
    body: { input: [{ type: "message", role: "assistant", content: [{ type: "refusal", refusal: word }] }] }
  },
  {
    name: "a summary of reasoning",
    body: { input: [{ type: "reasoning", id: "r", summary: [{ type: "summary_text", text: word }] }] }
  },
  {
    name: "the word split over parts",
    body: item({
      content: [
        { type: "input_text", text: sword },
        { type: "input_text", text: fish }
      ]
    })
  },
  { name: "the word split over strings", body: { input: [sword, fish] } },
  {
    name: "arguments",
    body: { input: [{ type: "function_call", call_id: "c", name: "f", arguments: `{"a":"${escaped}"}` }] },
    tools: true
  },
  { name: "an output", body: { input: [{ type: "function_call_output", call_id: "c", output: word }] }, tools: true },
  {
    name: "an output in parts",
    body: {
      input: [
        {
          type: "function_call_output",
          call_id: "c",
          output: [
            { type: "input_text", text: sword },
            { type: "input_text", text: fish }
          ]
        }
      ]
    },
    tools: true
  },
  { name: "an action", body: { input: [{ type: "shell_call", action: { commands: [word] } }] }, tools: true },
  { name: "a tool's description", body: { input: "hi", tools: [{ type: "function", name: "f", description: word }] } },
  {
    name: "the answer's schema",
    body: { input: "hi", text: { format: { type: "json_schema", name: "a", schema: { title: word } } } }
  },
  { name: "a variable of a prompt", body: { input: "hi", prompt: { id: "p", variables: { a: word } } } },
  { name: "metadata", body: { input: "hi", metadata: { note: word } } },
  { name: "input twice", body: raw(`"input":"${word}","input":"hi"`) }
]

const ofParts = (...parts: ReadonlyArray<unknown>) => ({ contents: [{ role: "user", parts }] })
const generateContent: ReadonlyArray<Shape> = [
  { name: "a text part", body: ofParts({ text: word }) },
  { name: "parts that are an object", body: { contents: [{ parts: { text: word } }] } },
  { name: "contents that are an object", body: { contents: { role: "user", parts: [{ text: word }] } } },
  { name: "contents that are a string", body: { contents: word } },
  { name: "a content that is a string", body: { contents: [word] } },
  { name: "a part that is a string", body: ofParts(word) },
  {
    name: "the system instruction",
    body: { ...ofParts({ text: "hi" }), systemInstruction: { parts: [{ text: word }] } }
  },
  {
    name: "the system instruction in snake case",
    body: { ...ofParts({ text: "hi" }), system_instruction: { parts: [{ text: word }] } }
  },
  { name: "a system instruction that is a string", body: { ...ofParts({ text: "hi" }), systemInstruction: word } },
  { name: "a thought", body: ofParts({ text: word, thought: true }) },
  { name: "the word split over parts", body: ofParts({ text: sword }, { text: fish }) },
  {
    name: "the word split over parts of the system instruction",
    body: { ...ofParts({ text: "hi" }), systemInstruction: { parts: [{ text: sword }, { text: fish }] } }
  },
  { name: "arguments", body: ofParts({ functionCall: { name: "f", args: { a: word } } }), tools: true },
  { name: "arguments in snake case", body: ofParts({ function_call: { name: "f", args: { a: word } } }), tools: true },
  { name: "a tool's answer", body: ofParts({ functionResponse: { name: "f", response: { a: word } } }), tools: true },
  { name: "code", body: ofParts({ executableCode: { language: "PYTHON", code: word } }), tools: true },
  {
    name: "a tool's description",
    body: { ...ofParts({ text: "hi" }), tools: [{ functionDeclarations: [{ name: "f", description: word }] }] }
  },
  {
    name: "a tool's description in snake case",
    body: { ...ofParts({ text: "hi" }), tools: [{ function_declarations: [{ name: "f", description: word }] }] }
  },
  {
    name: "the answer's schema",
    body: { ...ofParts({ text: "hi" }), generationConfig: { responseSchema: { description: word } } }
  },
  { name: "words to stop at", body: { ...ofParts({ text: "hi" }), generationConfig: { stopSequences: [word] } } },
  { name: "data that is none", body: ofParts({ inlineData: { mimeType: "image/png", data: `my ${word}` } }) },
  { name: "a file's address that is none", body: ofParts({ fileData: { fileUri: `my ${word}` } }) },
  { name: "a label", body: { ...ofParts({ text: "hi" }), labels: { a: word } } },
  { name: "contents twice", body: () => `{"contents":[{"parts":[{"text":"${word}"}]}],"contents":[]}` }
]

/** Every shape, by the format that it is sent in. */
export const shapes: Readonly<Record<Format, ReadonlyArray<Shape>>> = {
  completions,
  messages,
  responses,
  generateContent
}

/** A conversation of each format that no guard minds. */
export const harmless: Readonly<Record<Format, object>> = {
  completions: hello,
  messages: hello,
  responses: { input: "hello" },
  generateContent: ofParts({ text: "hello" })
}

/** What is no text stays as it is, whoever masks what looks like it. */
export const untouched: ReadonlyArray<readonly [name: string, format: Format, body: object]> = [
  [
    "ids, names, words of the format, addresses and data",
    "completions",
    {
      messages: [
        {
          role: "user",
          name: word,
          content: [
            { type: "image_url", image_url: { url: `https://${word}.example/a.png`, detail: "low" } },
            { type: "input_audio", input_audio: { data: "c3dvcmRmaXNo", format: "wav" } }
          ]
        },
        {
          role: "assistant",
          content: null,
          tool_calls: [{ id: word, type: "function", function: { name: word, arguments: "{}" } }]
        },
        { role: "tool", tool_call_id: word, content: "a" }
      ],
      tools: [{ type: "function", function: { name: word, parameters: { type: "object", required: [word] } } }],
      user: word
    }
  ],
  [
    "ids, names and data",
    "messages",
    {
      messages: [
        {
          role: "user",
          content: [
            { type: "image", source: { type: "base64", media_type: "image/png", data: word } },
            { type: "tool_result", tool_use_id: word, content: "a" }
          ]
        },
        {
          role: "assistant",
          content: [
            { type: "tool_use", id: word, name: word, input: {} },
            { type: "thinking", thinking: "a", signature: word }
          ]
        }
      ],
      metadata: { user_id: word }
    }
  ],
  [
    "ids, names and data",
    "responses",
    {
      input: [
        { type: "function_call", call_id: word, name: word, arguments: "{}" },
        { type: "reasoning", id: word, summary: [], encrypted_content: word },
        { role: "user", content: [{ type: "input_image", image_url: `https://${word}.example` }] }
      ],
      previous_response_id: word
    }
  ],
  [
    "names and data",
    "generateContent",
    {
      contents: [
        {
          role: "user",
          parts: [
            { inlineData: { mimeType: "image/png", data: word } },
            { functionResponse: { name: word, response: {} } }
          ]
        }
      ]
    }
  ]
]
