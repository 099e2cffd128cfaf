/** The handshake that the gateway makes itself: a stateless request meets a target that expects one. */
import type { TargetBroken } from "../../services/mcp-transport.ts"
import type { Call } from "./call.ts"
import { errorOf } from "./envelope.ts"
import type { Introduction, Product } from "./session.ts"
import type { TargetLink } from "./target-link.ts"

const refused = (reason: string): TargetBroken => ({
  _tag: "TargetBroken",
  status: 500,
  message: `upstream refused to initialize: ${reason}`
})

const initialized = '{"jsonrpc":"2.0","method":"notifications/initialized"}'

/** Sends `initialize` and `notifications/initialized` before everything that is sent from now on. */
export const handshake = (link: TargetLink, { version, headers, ledger }: Introduction, product: Product): void => {
  const clientInfo = { name: product.name, version: product.version }
  const call: Call = {
    id: 0,
    idText: "0",
    method: "initialize",
    name: undefined,
    text: JSON.stringify({
      jsonrpc: "2.0",
      id: 0,
      method: "initialize",
      params: { protocolVersion: version, capabilities: {}, clientInfo }
    }),
    token: undefined,
    headers,
    ledger,
    resumable: false,
    transform: (answer) => answer.text,
    out: {
      message: () => true,
      whenDrained: (resume) => resume(),
      gone: () => true,
      // The handshake has no time limit of its own: it ends with the session.
      late: () => undefined,
      answered: (answer) => {
        if (answer.kind === "error") link.release(refused(errorOf(answer).message), () => {})
        else
          link.release(undefined, () =>
            link.notify(initialized, "notifications/initialized", headers, ledger, () => {})
          )
      },
      failed: (failure) =>
        link.release(
          failure._tag === "RpcRefusal" || failure._tag === "HttpRefusal" ? refused(failure.message) : failure,
          () => {}
        ),
      suspended: () => link.release(refused("no answer"), () => {})
    }
  }
  link.introduce(call)
}
