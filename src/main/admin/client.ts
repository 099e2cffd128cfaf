/** Requests to the admin interface of a running proxy. */
import { type IncomingMessage, type RequestOptions, request } from "node:http"
import { buffer, text } from "node:stream/consumers"
import { Data, Effect, type Scope } from "effect"
import { type Address, show } from "../../../layers/http/address.ts"

/** The admin interface did not answer as it should. */
export class AdminUnreachable extends Data.TaggedError("AdminUnreachable")<{ readonly detail: string }> {
  override get message() {
    return this.detail
  }
}

/** What is asked, unless somebody names it. */
const interfaceName = "the admin interface"

/** Sends a request; its answer is read by the caller, and let go of with the scope. Any status but 200 is a failure. */
export const openAdmin = (
  admin: Address,
  method: "GET" | "POST",
  path: string,
  server = interfaceName
): Effect.Effect<IncomingMessage, AdminUnreachable, Scope.Scope> => {
  const options: RequestOptions = { ...reach(admin), method, path }
  const open = Effect.acquireRelease(
    Effect.callback<IncomingMessage, AdminUnreachable>((resume) => {
      const sent = request(options, (response) => resume(Effect.succeed(response)))
      sent.on("error", (cause) =>
        resume(
          Effect.fail(new AdminUnreachable({ detail: `cannot reach ${server} at ${show(admin)}: ${reasonOf(cause)}` }))
        )
      )
      sent.end()
      return Effect.sync(() => sent.destroy())
    }),
    (response) => Effect.sync(() => response.destroy())
  )
  return Effect.flatMap(open, (response) =>
    response.statusCode === 200
      ? Effect.succeed(response)
      : Effect.flatMap(
          Effect.promise(() => text(response)),
          (said) => Effect.fail(new AdminUnreachable({ detail: said.trim() || `status ${response.statusCode}` }))
        )
  )
}

/** The whole answer to a request. */
export const askAdmin = (
  admin: Address,
  method: "GET" | "POST",
  path: string,
  server = interfaceName
): Effect.Effect<Buffer, AdminUnreachable> =>
  Effect.scoped(
    Effect.flatMap(openAdmin(admin, method, path, server), (response) =>
      Effect.tryPromise({
        try: () => buffer(response),
        catch: (cause) => new AdminUnreachable({ detail: `the answer broke off: ${reasonOf(cause)}` })
      })
    )
  )

const reach = (admin: Address): RequestOptions => {
  switch (admin._tag) {
    case "Unix":
      return { socketPath: admin.path }
    case "Localhost":
      return { host: "127.0.0.1", port: admin.port }
    case "Tcp":
      return { host: admin.host, port: admin.port }
  }
}

export const reasonOf = (cause: unknown): string => (cause instanceof Error ? cause.message : String(cause))
