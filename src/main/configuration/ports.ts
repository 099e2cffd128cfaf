/** The adapters behind the ports of policies and terminals, made once for a process and kept across reloads. */
import { randomUUID } from "node:crypto"
import { Data, Effect, Layer } from "effect"
import * as Dns from "../../../layers/dns/layer.ts"
import * as Documents from "../../../layers/documents/layer.ts"
import * as Files from "../../../layers/files.ts"
import * as Upstream from "../../../layers/http/upstream.ts"
import * as HttpFetch from "../../../layers/http-fetch/layer.ts"
import * as Jwks from "../../../layers/jwks/live.ts"
import * as Kept from "../../../layers/kept.ts"
import * as LoggedDefects from "../../../layers/log/defects.ts"
import * as Passwords from "../../../layers/passwords/layer.ts"
import * as RateLimits from "../../../layers/rate-limits/memory.ts"
import * as Stdio from "../../../layers/stdio/layer.ts"
import * as Tokenizer from "../../../layers/tokenizer/layer.ts"
import { processClock } from "../../protocols/mcp/clock.ts"
import { McpProcess } from "../../protocols/mcp/process.ts"
import { randomSessionKey, sessionKey } from "../../protocols/mcp/session-id.ts"
import { containerOf, Defects } from "../../services/defects.ts"
import { Log } from "../../services/log.ts"
import { containedLater, Timer } from "../../services/timer.ts"
import { version } from "../version.ts"

/** SESSION_KEY is set, and is no key. */
export class InvalidSessionKey extends Data.TaggedError("InvalidSessionKey") {
  override readonly message = "SESSION_KEY: expected 32 bytes (64 hex characters)"
}

export interface PortOptions {
  /** SESSION_KEY. It wins over the key of the configuration; without either, sessions end with the process. */
  readonly sessionKey: Uint8Array | undefined
}

export const defaultPortOptions: PortOptions = { sessionKey: undefined }

export const portOptions = (
  env: Readonly<Record<string, string | undefined>>
): Effect.Effect<PortOptions, InvalidSessionKey> => {
  const text = env["SESSION_KEY"]
  if (text === undefined) return Effect.succeed(defaultPortOptions)
  const key = sessionKey(text)
  return key === undefined ? Effect.fail(new InvalidSessionKey()) : Effect.succeed({ sessionKey: key })
}

const mcpProcess = (options: PortOptions) =>
  Layer.effect(
    McpProcess,
    Effect.map(Defects, (tell) => {
      // Made when a configuration has the first of its relays.
      let own: Uint8Array | undefined
      let owner: string | undefined
      return {
        keyFor: (configured) => {
          const given = options.sessionKey ?? (configured === undefined ? undefined : sessionKey(configured))
          if (given !== undefined) return given
          own ??= randomSessionKey()
          return own
        },
        get owner() {
          owner ??= randomUUID()
          return owner
        },
        product: { name: "headgate", title: "Headgate", version: version.version },
        clock: processClock(containerOf(tell, "timer"))
      }
    })
  )

/** Failures of the proxy itself are told, whoever starts what fails. */
const contained = Layer.provideMerge(
  Layer.effect(
    Timer,
    Effect.map(Defects, (tell) => containedLater(containerOf(tell, "timer")))
  ),
  LoggedDefects.layer
)

const adapters = (options: PortOptions) =>
  Layer.mergeAll(
    Upstream.layer,
    Layer.provideMerge(Passwords.layer, Kept.layer),
    RateLimits.layer,
    Tokenizer.layer,
    mcpProcess(options),
    Layer.unwrap(
      Log.useSync(({ log }) =>
        Stdio.layer({
          log: ({ backendName, target }, line) => log("info", "mcp.stdio", line, { backend: backendName, target })
        })
      )
    ),
    Layer.provideMerge(Jwks.layer, Layer.provideMerge(Layer.merge(Documents.layer, Files.layer), HttpFetch.layer))
  ).pipe(Layer.provide(Dns.layer()))

export const ports = (options: PortOptions) => Layer.provideMerge(adapters(options), contained)
