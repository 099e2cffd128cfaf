/**
 * Writes a configuration text from plain values. What is read back is what was given: a dollar sign or a tilde that stands for
 * nothing else is written so that it stays, and what shall come from the environment is a value of its own.
 */
import { Document, Scalar, visit } from "yaml"

/** A value that is read from the environment when the text is. */
export class FromEnvironment {
  readonly name: string
  readonly fallback: string | undefined

  constructor(name: string, fallback?: string) {
    this.name = name
    this.fallback = fallback
  }

  toString(): string {
    return this.fallback === undefined ? `$${this.name}` : `\${${this.name}:-${this.fallback}}`
  }
}

/** Stands for a tilde while the text is made. No text of a person holds this character, which Unicode gave no meaning. */
const tilde = "\ufdd0"

const prepared = (value: unknown): unknown => {
  if (value instanceof FromEnvironment) return value
  if (typeof value === "string") return value.replaceAll("$", "$$$$").replaceAll("~/", `${tilde}/`)
  if (Array.isArray(value)) return value.map(prepared)
  if (typeof value === "object" && value !== null)
    return Object.fromEntries(
      Object.entries(value).flatMap(([key, each]) => (each === undefined ? [] : [[prepared(key), prepared(each)]]))
    )
  return value
}

/** The text of a mapping, in the order of its keys; members that are `undefined` are left out. */
export const write = (values: object): string => {
  const document = new Document(prepared(values), {
    customTags: (tags) => [
      ...tags,
      {
        tag: "",
        identify: (value) => value instanceof FromEnvironment,
        resolve: String,
        stringify: ({ value }) => String(value)
      }
    ]
  })
  visit(document, {
    Scalar: (_, node) => {
      // Over several lines, and in quotes of the other kind, there are no escapes.
      if (typeof node.value === "string" && (node.value.includes(tilde) || node.value.includes("\n")))
        node.type = Scalar.QUOTE_DOUBLE
    }
  })
  return document.toString({ lineWidth: 0, flowCollectionPadding: true }).replaceAll(tilde, "\\x7e")
}
