/** The two forms of a log line: text, whose fields are `name=value`, and JSON. */
import type { FieldValue, LineForm } from "../../src/services/log.ts"

/** Their values are sentences, so they stand in quotes. */
const quoted = new Set(["error", "mcp.error.message"])

// A log line is one line, and no command to its reader's terminal: what a client sends must not forge another. Only what
// begins one of these is looked for: a pattern of all control characters takes ten times as long.
const steering = /[\n\r\b\u001b\u0085\u0090\u009b\u009d\u2028\u2029]/
const eachSteering = new RegExp(steering, "g")

const escaped = (character: string): string => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`

const oneLine = (text: string): string =>
  steering.test(text) ? text.replace(/[\r\n]+/g, "\\n").replace(eachSteering, escaped) : text

export const text: LineForm = {
  field: (name) => {
    const before = ` ${name}=`
    return quoted.has(name)
      ? (value) => (value === null ? "" : before + JSON.stringify(value))
      : (value) => (value === null ? "" : before + value)
  },
  line: (time, level, target, message, fields) =>
    `${oneLine(`${time}\t${level}\t${target}${message === "" ? "" : `\t${message}`}${fields}`)}\n`
}

const jsonField = (name: string): ((value: FieldValue) => string) => {
  const before = `,${JSON.stringify(name)}:`
  return (value) => before + JSON.stringify(value)
}
const jsonMessage = jsonField("message")

export const json: LineForm = {
  field: jsonField,
  line: (time, level, target, message, fields) =>
    `{"level":"${level}","time":"${time}","scope":${JSON.stringify(target)}${message === "" ? "" : jsonMessage(message)}${fields}}\n`
}

export const forms = { text, json } as const
