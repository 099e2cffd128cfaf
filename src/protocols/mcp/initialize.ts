/** The handshake of a client: forwarded to every target, answered as one server, and the birth of a session. */

import { edited, filteredObject, objectAt, path, stringIn } from "../../json/text.ts"
import { idText, resultMessage } from "./envelope.ts"
import { begunAlready, linkFailure, noUpstreams, refusal } from "./errors.ts"
import { broadcast, type Exchange, fail, send } from "./exchange.ts"
import { mergedInitialize, negotiatedVersion } from "./merge.ts"
import { latestLegacyVersion } from "./versions.ts"

/** What a client that cannot be asked back must not promise. */
const callbacks = new Set(["roots", "sampling", "elicitation"])

/** Begins the session of the exchange, or forwards the handshake of a stateless client. */
export const initialize = (exchange: Exchange) => {
  const { backend, session, message, params, reply } = exchange
  const { failureMode, targets } = backend.config
  const stateful = session.kind === "session"
  if (session.id !== "") return fail(exchange, begunAlready)
  const failOpen = failureMode === "failOpen"
  if (targets.length === 0 && !failOpen) return fail(exchange, refusal.noBackends)
  const links = session.links()
  const notBuilt = links.find((link) => link.dead !== undefined)?.dead
  if (notBuilt !== undefined && !failOpen) return fail(exchange, notBuilt)
  if (notBuilt !== undefined && links.every((link) => link.dead !== undefined)) return fail(exchange, refusal.noneLeft)
  const text = stateful ? message.text : withoutCallbacks(exchange)
  const begun = (version: string | undefined) => {
    session.version = version
    if (!stateful) return
    session.onBegun()
    reply.facts.sessionId = session.id
    reply.headers.push("mcp-session-id", session.id)
  }
  reply.headWaits = true
  if (!session.naming.multiplexing) {
    const link = links[0]
    if (link === undefined) return fail(exchange, noUpstreams(false))
    return send(
      exchange,
      link,
      undefined,
      text,
      (answer) => answer.text,
      (answer) => begun(negotiatedVersion(answer))
    )
  }
  const clientVersion = stringIn(message.text, path(message.text, params, "protocolVersion")) ?? latestLegacyVersion
  if (links.length === 0) {
    const empty = mergedInitialize([], clientVersion, backend.product, stateful)
    begun(empty.version)
    reply.answer(resultMessage(idText(message), empty.text), undefined)
    return
  }
  broadcast(exchange, {
    links,
    textFor: () => text,
    failOpen,
    lenient: false,
    merge: (answers) => {
      // A target that failed to begin has no part in the session.
      for (const link of links)
        if (!answers.some((answered) => answered.link === link)) link.close(undefined, linkFailure.closed)
      const merged = mergedInitialize(answers, clientVersion, backend.product, stateful)
      begun(merged.version)
      return merged.text
    }
  })
}

const withoutCallbacks = ({ message, params }: Exchange): string => {
  const { text } = message
  const capabilities = path(text, params, "capabilities")
  const members = capabilities && objectAt(text, capabilities.start)
  if (capabilities === undefined || members === undefined) return text
  const by = filteredObject(text, members, ({ key }) => !callbacks.has(key))
  return edited(text, [{ start: capabilities.start, end: capabilities.end, by }])
}
