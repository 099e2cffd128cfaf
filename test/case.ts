/**
 * A case: one policy, what is asked of it, and what must come of that. It is data, and the format of `cases/*.yaml`:
 * the examples of the reference pages are cases, so that none of them can rot.
 */
import { readFileSync } from "node:fs"
import { Schema } from "effect"
import { parse } from "yaml"
import signingKeys from "./fixtures/signing-keys.json" with { type: "json" }
import { type KeyName, keySet, token } from "./tokens.ts"

const optional = Schema.optionalKey
const Headers = Schema.Record(Schema.String, Schema.Union([Schema.String, Schema.Array(Schema.String)]))
/** Text, or what becomes JSON. */
const Content = Schema.Json

const Request = Schema.Struct({
  method: optional(Schema.String),
  path: optional(Schema.String),
  scheme: optional(Schema.Literals(["http", "https"])),
  host: optional(Schema.String),
  headers: optional(Headers),
  body: optional(Content)
})

/** Headers that must be there with this value or these lines; null: that must not be there. */
const ExpectedHeaders = Schema.Record(
  Schema.String,
  Schema.NullOr(Schema.Union([Schema.String, Schema.Array(Schema.String)]))
)

const Expectation = Schema.Struct({
  status: optional(Schema.Int),
  headers: optional(ExpectedHeaders),
  body: optional(Content),
  /** What reached the backend; null: nothing did. */
  upstream: optional(
    Schema.NullOr(
      Schema.Struct({
        method: optional(Schema.String),
        path: optional(Schema.String),
        host: optional(Schema.String),
        headers: optional(ExpectedHeaders),
        body: optional(Content)
      })
    )
  ),
  /** Expressions that are true once the answer is there. */
  holds: optional(Schema.Array(Schema.String)),
  /** What the policy tells whoever watches, by kind. */
  notes: optional(Schema.Record(Schema.String, Schema.Json)),
  /** The calls of other servers since the case began, as `GET https://issuer.example/certs`. */
  outside: optional(Schema.Array(Schema.String))
})

const Answer = Schema.Struct({
  status: optional(Schema.Int),
  headers: optional(Headers),
  body: optional(Content)
})

/** What other servers answer, by method and address; a text instead of an answer is why none comes. */
const Outside = Schema.Record(Schema.String, Schema.Union([Answer, Schema.Struct({ fails: Schema.String })]))

const Step = Schema.Struct({
  /** Seconds that pass before. */
  after: optional(Schema.Finite),
  outside: optional(Outside),
  request: optional(Request),
  expect: Expectation
})

const Case = Schema.Struct({
  /** What it shows, in a sentence. */
  shows: Schema.String,
  site: optional(Schema.Literals(["gateway", "route", "backend"])),
  config: Schema.Json,
  now: optional(Schema.String),
  /** Tokens, which texts name as `${valid}`. */
  tokens: optional(
    Schema.Record(
      Schema.String,
      Schema.Struct({
        key: Schema.String,
        claims: Schema.Json,
        header: optional(Schema.Record(Schema.String, Schema.Json))
      })
    )
  ),
  outside: optional(Outside),
  /** What the backend answers: 200 without a body when left out. */
  backend: optional(Answer),
  request: optional(Request),
  expect: optional(Expectation),
  /** Several requests after one another, instead of one. */
  steps: optional(Schema.Array(Step)),
  /** The configuration is refused, with exactly these lines. */
  rejects: optional(Schema.Array(Schema.String))
})

export type Case = typeof Case.Type
export type CaseStep = typeof Step.Type
export type CaseRequest = typeof Request.Type
export type Expectation = typeof Expectation.Type
export type CaseAnswer = typeof Answer.Type

const decode = Schema.decodeUnknownSync(Case, { errors: "all", onExcessProperty: "error" })

/** Reads a case. `${name}` stands for a token of the case, `${keys rsa-1 ec-256}` for the set of these keys. */
export const readCase = (file: string): Case => {
  const raw = decode(parse(readFileSync(file, "utf8")))
  const tokens = new Map(
    Object.entries(raw.tokens ?? {}).map(([name, { key, claims, header }]) => [name, token(named(key), claims, header)])
  )
  const text = (value: string) =>
    value.replace(/\$\{([^}]+)\}/g, (_, name: string) => {
      const [first, ...rest] = name.split(" ")
      const found = first === "keys" ? keySet(...rest.map(named)) : tokens.get(name)
      if (found === undefined) throw new Error(`${file}: there is no token ${name}`)
      return found
    })
  return decode({ ...(filled(raw, text) as Case), tokens: {} })
}

const named = (name: string): KeyName => {
  if (!Object.hasOwn(signingKeys, name)) throw new Error(`there is no key ${name}`)
  return name as KeyName
}

const filled = (value: unknown, text: (value: string) => string): unknown => {
  if (typeof value === "string") return text(value)
  if (Array.isArray(value)) return value.map((each) => filled(each, text))
  if (typeof value === "object" && value !== null)
    return Object.fromEntries(Object.entries(value).map(([key, each]) => [key, filled(each, text)]))
  return value
}
