/** The OpenAPI document that describes an interface: in the configuration, in a file, or at an address, from where it is kept fresh. */
import { Context, Effect, Result } from "effect"
import { parse } from "yaml"
import type { ConfigPath, ConfigProblem, RemoteDocument } from "../../src/policy/policy.ts"
import { compileDocumentCall, type DocumentKind, Documents, Files } from "../../src/policy/terminal.ts"
import type { McpTarget } from "../../src/protocols/mcp/config.ts"
import { type OpenApiInterface, openApiInterface } from "../../src/protocols/mcp/openapi.ts"
import type { McpBackend } from "./schema.ts"

type Schema = NonNullable<(typeof McpBackend)["Type"]["targets"][number]["openapi"]>["schema"]
type Description = Pick<Extract<McpTarget, { readonly kind: "openapi" }>, "document" | "api" | "load">

export const compileDescription = (schema: Schema, at: ConfigPath) =>
  Effect.gen(function* () {
    const path = [...at, "schema"]
    const problem = (message: string): ReadonlyArray<ConfigProblem> => [{ path, message }]
    if (schema === undefined) return yield* Effect.fail([{ path: at, message: "expected a schema" }])
    if (typeof schema === "object" && schema.url !== undefined) return yield* openAt(schema, path)
    const { read } = yield* Files
    const text =
      typeof schema === "string" ? schema : yield* Effect.mapError(read(schema.file), ({ message }) => problem(message))
    const found = describedBy(text)
    if (Result.isFailure(found)) return yield* Effect.fail(problem(found.failure))
    const api = found.success
    const known: Description = { document: api, api: () => api, load: (_, done) => done() }
    return known
  })

const descriptions: DocumentKind<OpenApiInterface> = {
  name: "OpenAPI document",
  target: "mcp",
  accept: "application/json, application/yaml, */*",
  maxBytes: 16 * 1024 * 1024,
  lifetime: 24 * 60 * 60_000,
  read: (text) => Result.map(describedBy(text), (value) => ({ value, warnings: [] }))
}

const openAt = (remote: RemoteDocument, path: ConfigPath) =>
  Effect.gen(function* () {
    const { url, policies } = remote
    const document = yield* (yield* Documents).open(descriptions, url, yield* compileDocumentCall(remote, path))
    const own = yield* Effect.context<never>()
    const described: Description = {
      document: { url, policies },
      api: document.current,
      load: (context, done) => {
        const run = Effect.runCallbackWith(context === undefined ? own : Context.merge(own, context))
        run(document.refresh, { onExit: done })
      }
    }
    return described
  })

const describedBy = (text: string): Result.Result<OpenApiInterface, string> => {
  const parsed = Result.try({
    try: (): unknown => parse(text, { prettyErrors: false }),
    catch: () => "the OpenAPI document is neither JSON nor YAML"
  })
  return Result.flatMap(parsed, (document) =>
    Result.mapError(openApiInterface(document), (why) => `the OpenAPI document cannot be used: ${why}`)
  )
}
