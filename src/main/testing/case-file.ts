/**
 * A case: one policy or a whole configuration, what is asked of it, and what must come of that. It is data, the format of
 * `cases/*.yaml`: the examples of the reference pages are cases, so that none of them can rot.
 */
import { Schema } from "effect"
import { siteNames } from "../../pipeline/site.ts"
import type { Request } from "./arbitraries.ts"
import { readExpectations } from "./expectation.ts"

const optional = Schema.optionalKey
const Headers = Schema.Record(Schema.String, Schema.Union([Schema.String, Schema.Array(Schema.String)]))
/** Text, or what becomes JSON. */
const Content = Schema.Json

const CaseRequest = Schema.Struct({
  method: optional(Schema.String),
  path: optional(Schema.String),
  scheme: optional(Schema.Literals(["http", "https"])),
  host: optional(Schema.String),
  headers: optional(Headers),
  body: optional(Content),
  /** Whether the body is pushed in pieces. */
  streamed: optional(Schema.Boolean),
  /** The path prefix by which the route was matched, null for none. Default: `/`. Of a policy alone. */
  prefix: optional(Schema.NullOr(Schema.String)),
  /** The address of the client. Default: 192.0.2.1. */
  from: optional(Schema.String)
})

/** Headers that must be there with this value or these lines; null: that must not be there. */
const ExpectedHeaders = Schema.Record(Schema.String, Schema.Unknown)

const Expectation = Schema.Struct({
  /** The connection was closed before anything was read of the request. */
  closed: optional(Schema.Boolean),
  status: optional(Schema.Int),
  headers: optional(ExpectedHeaders),
  body: optional(Schema.Unknown),
  /** What reached the backend; null: nothing did. */
  upstream: optional(
    Schema.NullOr(
      Schema.Struct({
        method: optional(Schema.String),
        path: optional(Schema.String),
        host: optional(Schema.String),
        headers: optional(ExpectedHeaders),
        body: optional(Schema.Unknown)
      })
    )
  ),
  /** Expressions that are true once the answer is there. */
  holds: optional(Schema.Array(Schema.String)),
  /** What the policy tells whoever watches, by kind. */
  notes: optional(Schema.Record(Schema.String, Schema.Unknown)),
  /** Seconds from the request to the end of its answer, by the time of the case. */
  took: optional(Schema.Finite),
  /**
   * Everything that was called since the step before, in order: `GET https://issuer.example/certs` of a server that a
   * policy asks, `POST backend.example:80/path` of a backend, `tools/call tools.example` of an MCP server.
   */
  called: optional(Schema.Array(Schema.String))
})

const Answer = Schema.Struct({
  status: optional(Schema.Int),
  headers: optional(Headers),
  body: optional(Content),
  streamed: optional(Schema.Boolean),
  /** Seconds until it comes. */
  after: optional(Schema.Finite)
})

/** An answer, or why none comes. */
const Said = Schema.Union([Answer, Schema.Struct({ fails: Schema.String, after: optional(Schema.Finite) })])

/** What other servers answer, by method and address. */
const Outside = Schema.Record(Schema.String, Said)

const Step = Schema.Struct({
  /** Seconds that pass before. */
  after: optional(Schema.Finite),
  outside: optional(Outside),
  request: optional(CaseRequest),
  expect: Expectation,
  /** Headers of the answer that later requests repeat, by the names under which they do: `${session}`. */
  keeps: optional(Schema.Record(Schema.String, Schema.String))
})

const CaseFile = Schema.Struct({
  /** What it shows, in a sentence. */
  shows: Schema.String,
  /** Of a policy alone: where it is attached. Default: at a route, where it may be. */
  site: optional(Schema.Literals(siteNames)),
  /** Of a policy alone. */
  config: optional(Schema.Json),
  /** Of a policy alone: whether paths stay as they came. Default: normalised. */
  paths: optional(Schema.Literals(["normalised", "raw"])),
  /** The text of a whole configuration instead. */
  configuration: optional(Schema.String),
  /** When it begins. Default: with the year 2026. */
  now: optional(Schema.String),
  outside: optional(Outside),
  /** What the backends answer: 200 without a body when left out. Several answers come in turn, the last one again and again. */
  backend: optional(Schema.Union([Schema.Array(Said), Said])),
  /** What single ones of them answer instead, by their address. */
  backends: optional(Schema.Record(Schema.String, Schema.Union([Schema.Array(Said), Said]))),
  /** MCP servers behind HTTP by their host: what they answer, by method; null: nothing, ever. */
  servers: optional(Schema.Record(Schema.String, Schema.Record(Schema.String, Schema.Json))),
  request: optional(CaseRequest),
  expect: optional(Expectation),
  /** Several requests after one another, instead of one. */
  steps: optional(Schema.Array(Step)),
  /** The configuration is refused, with exactly these lines: where, and why. */
  rejects: optional(Schema.Array(Schema.String))
}).check(
  Schema.makeFilter((file) =>
    (file.config === undefined) === (file.configuration === undefined)
      ? "expected either config or configuration"
      : undefined
  )
)

export type CaseFile = typeof CaseFile.Type
export type CaseRequest = typeof CaseRequest.Type
export type CaseAnswer = typeof Answer.Type
export type CaseSaid = typeof Said.Type
export type CaseStep = typeof Step.Type
export type CaseExpectation = typeof Expectation.Type

/** A case from data. Throws what is wrong with it. */
export const decodeCase = Schema.decodeUnknownSync(CaseFile, { errors: "all", onExcessProperty: "error" })

/** A case from the text of a file; in what it expects, the tags of expectations may stand. Throws what is wrong with it. */
export const readCase = (text: string): CaseFile => decodeCase(readExpectations(text))

/** Its requests, in order. */
export const stepsOf = ({ steps, request, expect }: CaseFile): ReadonlyArray<CaseStep> =>
  steps ?? [{ ...(request === undefined ? {} : { request }), expect: expect ?? {} }]

/** The text of a body. */
export const textOf = (body: unknown): string =>
  body === undefined ? "" : typeof body === "string" ? body : JSON.stringify(body)

/** Lines of headers. */
export const headerLines = (headers: CaseAnswer["headers"] = {}): ReadonlyArray<readonly [string, string]> =>
  Object.entries(headers).flatMap(([name, value]) => [value].flat().map((line) => [name.toLowerCase(), line] as const))

/** A request as it is played. */
export const requestOf = ({
  method,
  path = "/",
  scheme = "http",
  host = "example.com",
  headers,
  body,
  streamed = false,
  prefix = "/",
  from
}: CaseRequest): Request => ({
  method: method ?? (body === undefined ? "GET" : "POST"),
  scheme,
  authority: host,
  path,
  headers: headerLines(headers),
  body: body === undefined ? undefined : { chunks: [textOf(body)], streamed },
  prefix: prefix ?? undefined,
  from
})
