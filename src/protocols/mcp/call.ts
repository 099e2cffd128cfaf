/** The vocabulary between the relay and its links: a request on its way to a target, and where its messages go. */
import type { McpEventMark, TargetFailure } from "../../services/mcp-transport.ts"
import type { Ledger } from "./call-record.ts"
import type { RpcError, RpcId, RpcResponse } from "./envelope.ts"
import type { McpFailure } from "./errors.ts"
import type { Naming } from "./names.ts"

/** Takes messages of a stream in the client's form. `false`: enough for now, `whenDrained` tells when to go on. */
export interface Outlet {
  readonly message: (text: string, mark: McpEventMark | undefined) => boolean
  readonly whenDrained: (resume: () => void) => void
  /** The client does not read any more. */
  readonly gone: () => boolean
}

/** The outlet of a client's request, whose answer may have to begin within a time. */
export interface RequestOutlet extends Outlet {
  /** Why nothing more is to be done for the request, once its time is up. */
  readonly late: () => McpFailure | undefined
}

/** Where a call reports. Exactly one of `answered`, `failed` and `suspended` ends it. */
export interface CallOutlet extends RequestOutlet {
  readonly answered: (answer: RpcResponse | RpcError, mark: McpEventMark | undefined) => void
  readonly failed: (failure: McpFailure) => void
  /** The stream ended before the answer, and its event ids tell the client how to ask for the rest. */
  readonly suspended: () => void
}

/** A request on its way to a target. */
export interface Call {
  readonly id: RpcId
  /** The id as the client wrote it; the answer gets it back. */
  readonly idText: string
  readonly text: string
  readonly method: string
  /** The item at the target, for spans. */
  readonly name: string | undefined
  readonly token: RpcId | undefined
  readonly headers: ReadonlyArray<string>
  readonly ledger: Ledger
  /** The client sees the target's event ids, so it can resume by itself; otherwise the link resumes for it. */
  readonly resumable: boolean
  /** The answer in the client's form. */
  readonly transform: (answer: RpcResponse) => string
  readonly out: CallOutlet
}

/** Where a listening stream reports. */
export interface ListenOutlet extends Outlet {
  readonly opened: () => void
  readonly ended: (failure: TargetFailure | undefined) => void
}

/** What a link needs of its session. */
export interface LinkHost {
  readonly naming: Naming
  readonly pendingRequests: number
  /** Requests of targets: to the client, refused because the protocol has none, or answered in the client's stead. */
  readonly requests: "routed" | "refused" | "answered"
  /** Whoever closes the stream of a request has cancelled it (2026-07-28). Before that it had to be said. */
  readonly closingCancels: boolean
  readonly after: (millis: number, action: () => void) => () => void
  /** The stream for messages of shared channels that belong to no call. */
  readonly listener: () => Outlet | undefined
  /** Keeps such a message until there is a listener. */
  readonly keep: (text: string) => void
  readonly listChanged: (method: string) => void
  readonly died: () => void
  readonly warn: (target: string, message: string) => void
}
