/** The two forms of a log line: text, whose fields are `name=value`, and JSON. */
import type { FieldValue, LineForm } from "../../src/services/log.ts"

/** Their values are sentences, so they stand in quotes. */
const quoted = new Set(["error", "mcp.error.message"])

// A log line is one line: what a client sends must not forge another.
const oneLine = (text: string): string =>
  text.includes("\n") || text.includes("\r") ? text.replace(/[\r\n]+/g, "\\n") : text

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
