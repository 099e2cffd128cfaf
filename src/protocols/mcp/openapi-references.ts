/** References within an OpenAPI document, replaced by what they name. A client of MCP sees no document to look into. */
import { isObject, type Json, type JsonObject } from "./openapi-json.ts"

/** A document that doubles with every reference must not fill the memory. */
const mostNodes = 100_000
/** Values within one another, references counted: what is deeper would end the stack, here or at a client. */
const mostDepth = 500

export class References {
  readonly #document: JsonObject
  readonly #unusable: (message: string) => never
  #nodes = 0

  constructor(document: JsonObject, unusable: (message: string) => never) {
    this.#document = document
    this.#unusable = unusable
  }

  /** The value without references. What contains itself is cut where it does: any value is allowed there. */
  resolved(value: Json, within: ReadonlyArray<string> = [], depth = 0): Json {
    if (++this.#nodes > mostNodes) this.#unusable("the document is too large once its references are resolved")
    if (depth > mostDepth) this.#unusable("the document is too deep once its references are resolved")
    const inner = (each: Json, references = within) => this.resolved(each, references, depth + 1)
    if (Array.isArray(value)) return value.map((each) => inner(each))
    if (!isObject(value)) return value
    const reference = value["$ref"]
    if (typeof reference === "string") {
      if (within.includes(reference)) return {}
      return inner(this.#named(reference), [...within, reference])
    }
    return Object.fromEntries(Object.entries(value).map(([key, each]) => [key, inner(each)]))
  }

  #named(reference: string): Json {
    if (!reference.startsWith("#/")) return this.#unusable(`${reference} is not in this document`)
    let found: Json | undefined = this.#document
    for (const part of reference.slice(2).split("/")) {
      // RFC 6901; a name of a component holds nothing that a URI would have to encode.
      const key = part.replaceAll("~1", "/").replaceAll("~0", "~")
      found = isObject(found) && Object.hasOwn(found, key) ? found[key] : undefined
    }
    return found ?? this.#unusable(`${reference} names nothing`)
  }
}
