/** An OpenAI response, read. What messages clients could not be given is refused rather than lost. */
import { Result } from "effect"
import { type LlmError, responseUnreadable } from "../../formats/error.ts"
import { type JsonObject, listAt, objectsAt, parseJson, stringAt, wordAt } from "../../formats/json.ts"
import type { Exchange } from "../codec.ts"
import type { Finish, Reply, ReplyPart } from "../reply.ts"
import { decodeIncomplete } from "./status.ts"
import { decodeUsage } from "./usage.ts"

interface Read {
  readonly parts: Array<ReplyPart>
  refused: boolean
  problem: LlmError | undefined
}

const readMessage = (item: JsonObject, at: string, read: Read): void => {
  objectsAt(item, "content").forEach((part, index) => {
    const field = `${at}.content[${index}]`
    if (part["type"] === "output_text") {
      if (listAt(part, "annotations").length > 0 || listAt(part, "logprobs").length > 0)
        read.problem ??= responseUnreadable("unsupported content: annotations or logprobs", field)
      read.parts.push({ type: "text", text: stringAt(part, "text") ?? "" })
    } else if (part["type"] === "refusal") {
      read.refused = true
      read.parts.push({ type: "text", text: stringAt(part, "refusal") ?? "" })
    } else read.problem ??= responseUnreadable(`unsupported content: ${wordAt(part, "type")}`, field)
  })
}

const readCall = (item: JsonObject, at: string, read: Read): void => {
  const text = stringAt(item, "arguments") ?? ""
  if (text !== "" && parseJson(text) === undefined)
    read.problem ??= responseUnreadable("function call arguments are not JSON", `${at}.arguments`)
  read.parts.push({
    type: "toolCall",
    id: stringAt(item, "call_id") ?? "",
    name: stringAt(item, "name") ?? "",
    arguments: text || "{}"
  })
}

const readOutput = (body: JsonObject): Read => {
  const read: Read = { parts: [], refused: false, problem: undefined }
  objectsAt(body, "output").forEach((item, index) => {
    const at = `output[${index}]`
    switch (item["type"]) {
      case "message":
        return readMessage(item, at, read)
      case "function_call":
        return readCall(item, at, read)
      case "reasoning":
        return
      default:
        read.problem ??= responseUnreadable(`unsupported output item: ${wordAt(item, "type")}`, at)
    }
  })
  return read
}

/** `undefined` when the response is not final, or failed. */
const readFinish = (body: JsonObject, { parts, refused }: Read): Finish | undefined => {
  const status = body["status"]
  if (status === "incomplete") return decodeIncomplete(body)
  if (status !== "completed") return undefined
  if (parts.some((part) => part.type === "toolCall")) return "toolUse"
  return refused ? "refusal" : "end"
}

export const decodeResponse = (body: JsonObject, { call }: Exchange): Result.Result<Reply, LlmError> => {
  if (!Array.isArray(body["output"])) return Result.fail(responseUnreadable("missing field: output", "output"))
  const read = readOutput(body)
  if (read.problem !== undefined) return Result.fail(read.problem)
  const finish = readFinish(body, read)
  if (finish === undefined) return Result.fail(responseUnreadable(`response is ${wordAt(body, "status")}`, "status"))
  return Result.succeed({
    id: stringAt(body, "id") ?? "",
    model: stringAt(body, "model") ?? call.model,
    serviceTier: stringAt(body, "service_tier"),
    choices: [{ parts: read.parts, finish }],
    usage: decodeUsage(body["usage"])
  })
}
