/**
 * OpenAPI 3.0 as tools: each operation of a document is one tool, a call of the tool is one HTTP request, and its answer is
 * the result. Texts and values alone; nothing is sent here.
 */
import { Buffer } from "node:buffer"
import { Result } from "effect"
import { clientToken } from "./headers.ts"
import { isObject, type Json, type JsonObject } from "./openapi-json.ts"
import { References } from "./openapi-references.ts"

/** Where a parameter goes, and the members of a tool's arguments. */
const places = ["header", "query", "path"] as const
type Place = (typeof places)[number]

export interface OpenApiTool {
  readonly name: string
  readonly title?: string
  readonly description: string
  readonly inputSchema: JsonObject
}

/** A tool with what makes a request of its call. */
export interface OpenApiOperation {
  readonly tool: OpenApiTool
  /** As `GET`. */
  readonly method: string
  /** With `{names}` to be filled. */
  readonly path: string
  /** Names of header parameters, as declared. */
  readonly headers: ReadonlyArray<string>
  readonly body: "json" | "bytes" | undefined
}

export interface OpenApiInterface {
  readonly title: string
  readonly version: string
  readonly operations: ReadonlyArray<OpenApiOperation>
}

const methods = ["get", "put", "post", "delete", "options", "head", "patch", "trace"] as const

/** What is wrong with a document, thrown and caught inside this module alone. */
class Unusable extends Error {}
const unusable = (message: string): never => {
  throw new Unusable(message)
}

/** The interface that a parsed document describes, or what is wrong with it. */
export const openApiInterface = (document: unknown): Result.Result<OpenApiInterface, string> => {
  try {
    if (!isObject(document)) return Result.fail("expected an object")
    if (typeof document["openapi"] !== "string" || !document["openapi"].startsWith("3."))
      return Result.fail("expected an OpenAPI 3 document")
    return Result.succeed(read(document))
  } catch (problem) {
    if (problem instanceof Unusable) return Result.fail(problem.message)
    throw problem
  }
}

const read = (document: JsonObject): OpenApiInterface => {
  const references = new References(document, unusable)
  const prefix = serverPrefix(document["servers"])
  const operations: Array<OpenApiOperation> = []
  const names = new Set<string>()
  for (const [path, item] of Object.entries(objectOr(document["paths"]))) {
    if (!isObject(item)) return unusable(`${path}: expected an object`)
    if (item["$ref"] !== undefined) return unusable(`${path}: a path item by reference is not supported`)
    for (const method of methods) {
      const operation = item[method]
      if (!isObject(operation)) continue
      const made = operationOf(references, prefix, path, method, item, operation)
      if (names.has(made.tool.name)) return unusable(`operationId ${made.tool.name} stands twice`)
      names.add(made.tool.name)
      operations.push(made)
    }
  }
  const info = objectOr(document["info"])
  return { title: textOr(info["title"], "openapi"), version: textOr(info["version"], "0"), operations }
}

const objectOr = (value: Json | undefined): JsonObject => (isObject(value) ? value : {})
const textOr = (value: Json | undefined, otherwise: string): string => (typeof value === "string" ? value : otherwise)
const listOf = (value: Json | undefined): ReadonlyArray<Json> => (Array.isArray(value) ? value : [])

/** The path under which the one server has its interface. */
const serverPrefix = (servers: Json | undefined): string => {
  const [server, ...more] = listOf(servers)
  if (more.length > 0) return unusable("multiple servers are not supported")
  const url = textOr(objectOr(server)["url"], "")
  const absolute = /^(?:[a-z][a-z0-9+.-]*:)?\/\/[^/?#]*([^?#]*)/i.exec(url)
  const path = (absolute === null ? url.replace(/[?#].*$/, "") : absolute[1]!).replace(/\/+$/, "")
  return path === "" || path.startsWith("/") ? path : `/${path}`
}

const operationOf = (
  references: References,
  prefix: string,
  path: string,
  method: string,
  item: JsonObject,
  operation: JsonObject
): OpenApiOperation => {
  const name = operation["operationId"]
  if (typeof name !== "string" || name === "") return unusable(`operation_id is required for ${path}`)
  const summary = operation["summary"]
  const description = textOr(operation["description"], textOr(summary, name))
  const properties: Record<string, Json> = {}
  const required: Array<string> = []

  const body = bodyOf(references, operation["requestBody"])
  if (body !== undefined) {
    properties["body"] = body.schema
    if (body.required) required.push("body")
  }
  const parameters = parametersOf(references, item["parameters"], operation["parameters"], name)
  for (const place of places) {
    const own = parameters.filter((parameter) => parameter.place === place)
    if (own.length === 0) continue
    const needed = own.filter(({ required }) => required).map(({ name }) => name)
    properties[place] = {
      type: "object",
      properties: Object.fromEntries(own.map(({ name, schema }) => [name, schema])),
      ...(needed.length === 0 ? {} : { required: needed })
    }
    if (needed.length > 0) required.push(place)
  }
  return {
    tool: {
      name,
      ...(typeof summary === "string" ? { title: beginning(summary, 64) } : {}),
      description,
      inputSchema: { type: "object", properties, ...(required.length === 0 ? {} : { required }) }
    },
    method: method.toUpperCase(),
    path: `${prefix}${path}`,
    headers: parameters.filter(({ place }) => place === "header").map(({ name }) => name),
    body: body?.kind
  }
}

/** At most so many bytes, whole characters only. */
const beginning = (text: string, bytes: number): string => {
  let length = 0
  let out = ""
  for (const character of text) {
    length += Buffer.byteLength(character)
    if (length > bytes) return out
    out += character
  }
  return out
}

const bodyOf = (references: References, value: Json | undefined) => {
  if (value === undefined) return undefined
  const body = objectOr(references.resolved(value))
  const content = objectOr(body["content"])
  const required = body["required"] === true
  for (const [type, media] of Object.entries(content))
    if (/^application\/(?:[^;]*\+)?json\b/i.test(type))
      return { kind: "json", schema: objectOr(media)["schema"] ?? {}, required } as const
  if (content["application/octet-stream"] !== undefined)
    return { kind: "bytes", schema: { type: "string", format: "byte" }, required } as const
  return undefined
}

interface Parameter {
  readonly name: string
  readonly place: Place
  readonly required: boolean
  readonly schema: Json
}

/** Those of the operation replace those of the path that have the same name and place. */
const parametersOf = (
  references: References,
  ofPath: Json | undefined,
  ofOperation: Json | undefined,
  operation: string
): ReadonlyArray<Parameter> => {
  const found = new Map<string, Parameter>()
  for (const [list, own] of [
    [ofPath, false],
    [ofOperation, true]
  ] as const)
    for (const value of listOf(list)) {
      const { name, in: place, required, schema, description, content } = objectOr(references.resolved(value))
      if (typeof name !== "string") return unusable(`${operation}: a parameter without a name`)
      if (place === "cookie") {
        if (own) return unusable(`${operation}: the cookie parameter ${name} is not supported`)
        continue
      }
      if (content !== undefined) return unusable(`${operation}: the parameter ${name} has content, not a schema`)
      const at = places.find((one) => one === place)
      if (at === undefined) return unusable(`${operation}: the parameter ${name} is in no known place`)
      found.set(`${at} ${at === "header" ? name.toLowerCase() : name}`, {
        name,
        place: at,
        required: required === true || at === "path",
        schema: { ...objectOr(schema), ...(typeof description === "string" ? { description } : {}) }
      })
    }
  return [...found.values()]
}

/** One HTTP request to the interface. */
export interface OpenApiRequest {
  readonly method: string
  readonly path: string
  /** Name, value, name, value … */
  readonly headers: ReadonlyArray<string>
  readonly body: string | Uint8Array | undefined
}

const ownHeaders = new Set(["content-length", "content-type", "transfer-encoding", "host", clientToken])

/** RFC 3986: everything but unreserved characters. Half a character, which no URI can hold, is replaced, as in every URL. */
const encoded = (text: string): string =>
  encodeURIComponent(text.toWellFormed()).replace(
    /[!'()*]/g,
    (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`
  )

/** The request that a call of the operation's tool stands for, or what is wrong with the arguments. */
export const requestOf = (operation: OpenApiOperation, args: unknown): Result.Result<OpenApiRequest, string> => {
  const given = isObject(args) ? args : {}
  const inPath = objectOr(given["path"])
  const path = operation.path.replace(/\{([^{}]*)\}/g, (placeholder, name: string) => {
    const value = inPath[name]
    return typeof value === "number" ? String(value) : typeof value === "string" ? encoded(value) : placeholder
  })
  // A segment of dots climbs out of the interface, and its encoding does not help: servers decode it first.
  if (path.split("/").some((segment) => segment === "." || segment === ".."))
    return Result.fail("a path parameter is . or ..")
  if (/[{}]/.test(path)) return Result.fail("a path parameter is missing")
  const query = Object.entries(objectOr(given["query"])).flatMap(([name, value]) => pairs(name, value))
  const headers: Array<string> = ["accept", "application/json"]
  const inHeader = objectOr(given["header"])
  for (const name of operation.headers) {
    const value = inHeader[name]
    if (typeof value !== "string" || ownHeaders.has(name.toLowerCase())) continue
    if (/[^\t\x20-\x7e\x80-\xff]/.test(value)) return Result.fail(`the header ${name} holds what no header can`)
    headers.push(name.toLowerCase(), value)
  }
  const { body } = given
  const sent =
    operation.body === undefined || body === undefined
      ? undefined
      : operation.body === "json"
        ? JSON.stringify(body)
        : Buffer.from(textOr(body, ""), "base64")
  if (sent !== undefined)
    headers.push("content-type", operation.body === "json" ? "application/json" : "application/octet-stream")
  return Result.succeed({
    method: operation.method,
    path: query.length === 0 ? path : `${path}?${query.join("&")}`,
    headers,
    body: sent
  })
}

const pairs = (name: string, value: Json): ReadonlyArray<string> => {
  if (value === null) return [encoded(name)]
  if (Array.isArray(value)) return value.flatMap((each) => (typeof each === "object" ? [] : pairs(name, each)))
  return typeof value === "object" ? [] : [`${encoded(name)}=${encoded(String(value))}`]
}

/** The result of a tool, for an answer of the interface below 500. What the client did wrong is an error of the tool. */
export const resultOf = (status: number, text: string): JsonObject => {
  const value = parsed(text)
  const structured: Json =
    value === undefined ? { code: status, message: text } : value === null || isObject(value) ? value : { data: value }
  return {
    content: [{ type: "text", text: JSON.stringify(structured) }],
    ...(structured === null ? {} : { structuredContent: structured }),
    ...(status >= 400 ? { isError: true } : {})
  }
}

/** `undefined` for what is no JSON. */
const parsed = (text: string): Json | undefined => {
  try {
    return JSON.parse(text) as Json
  } catch {
    return undefined
  }
}
