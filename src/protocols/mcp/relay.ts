/** The MCP relay of one backend, made from its configuration and the ports to its targets. */
import { Effect, Exit, type Scope } from "effect"
import { McpStdio } from "../../services/mcp-stdio.ts"
import type { McpBackendConfig } from "./config.ts"
import type { McpClock, McpRelay, McpResponse, McpWarning } from "./contract.ts"
import { Crowd } from "./crowd.ts"
import { header } from "./headers.ts"
import type { McpHttpServer } from "./http/contract.ts"
import { bindingOf, serve } from "./http-server.ts"
import { LegacySseServer } from "./legacy-sse-server.ts"
import { namingOf } from "./names.ts"
import { Pulse } from "./pulse.ts"
import type { Backend, Product } from "./session.ts"
import type { SessionIds } from "./session-id.ts"
import { Sessions } from "./sessions.ts"

/** What the relay shares with the rest of the gateway. */
export interface McpRelayOptions {
  /** Made with SESSION_KEY or a random key; shared by all processes that serve the backend. */
  readonly sessionIds: SessionIds
  /** Names this process among those that have the key: a session that lives in one process says in which. */
  readonly owner: string
  readonly product: Product
  readonly clock: McpClock
  /** The targets behind HTTP, by name. */
  readonly servers: ReadonlyMap<string, McpHttpServer>
  readonly warn: (warning: McpWarning) => void
}

/** Streams are checked for their keep-alive this many times as often as it is due. */
const beatsPerKeepAlive = 3
const maxBeatMillis = 5_000

/** The relay lives as long as the scope, and its sessions with it. */
export const makeMcpRelay = (
  config: McpBackendConfig,
  options: McpRelayOptions
): Effect.Effect<McpRelay, never, McpStdio | Scope.Scope> =>
  Effect.gen(function* () {
    const stdio = yield* McpStdio
    const { clock, product, warn, servers, sessionIds, owner } = options
    const beat = config.keepAliveMillis > 0 ? config.keepAliveMillis / beatsPerKeepAlive : maxBeatMillis
    const pulse = new Pulse(clock, Math.min(beat, maxBeatMillis))
    const backend: Backend = { config, naming: namingOf(config), product, stdio, servers, clock, pulse, warn }
    const crowd = new Crowd(config.limits.sessionsPerAddress)
    const sessions = new Sessions(backend, sessionIds, owner, crowd)
    const legacy = new LegacySseServer(backend, crowd, (binding) => sessions.single("session", binding, undefined))
    yield* Effect.addFinalizer(() =>
      Effect.sync(() => {
        sessions.close()
        legacy.close()
      })
    )
    const context = { backend, sessions, legacy }
    return {
      sessions: () => sessions.size + legacy.size,
      ownerOf: (request) => {
        const id = header(request.headers, "mcp-session-id")
        return id === undefined ? undefined : sessions.ownerOf(id, bindingOf(config, request))
      },
      handle: (request) => {
        let response: McpResponse | undefined
        let resume: ((response: McpResponse) => void) | undefined
        const cancel = serve(context, request, (answer) => {
          if (resume === undefined) response = answer
          else resume(answer)
        })
        if (response !== undefined) return Exit.succeed(response)
        return Effect.callback<McpResponse>((done) => {
          resume = (answer) => done(Exit.succeed(answer))
          if (response !== undefined) resume(response)
          return Effect.sync(cancel)
        })
      }
    }
  })
