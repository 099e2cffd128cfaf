/** A child process as MCP transport: one JSON-RPC message a line on standard input and output. */
import { contained, ignore } from "../../src/services/contained.ts"
import type { TellDefect } from "../../src/services/defects.ts"
import type { McpStdioCommand } from "../../src/services/mcp-stdio.ts"
import {
  type McpTransport,
  type McpTransportEvents,
  sharedChannel,
  type TargetFailure
} from "../../src/services/mcp-transport.ts"
import type { Guardian } from "./guardian.ts"
import { Lines } from "./lines.ts"
import { type ProcessGroup, startProcessGroup } from "./process-group.ts"

/** Limits of one child. */
export interface StdioLimits {
  /** Bytes of one line of the child. */
  readonly lineBytes: number
  /** Bytes that may wait for a child which does not read. */
  readonly queuedBytes: number
  /** Between closing standard input, SIGTERM and SIGKILL. */
  readonly graceMillis: number
}

/** A longer line on standard error is dropped, with what came behind it in the same piece. */
const stderrLineBytes = 8 * 1024

const broken = (message: string): TargetFailure => ({ _tag: "TargetBroken", status: 500, message })
const closed = broken("upstream closed on receive")
const tooLong = broken("upstream sent a line over the limit")
const notReading: TargetFailure = { _tag: "TargetBusy", status: 503, message: "upstream does not read its input" }
const notStarted = (error: NodeJS.ErrnoException): TargetFailure => ({
  _tag: "TargetNotStarted",
  status: 500,
  message: `stdio target could not be started: ${error.code ?? "unknown error"}`
})

/** The transport, and the group behind it. */
export interface StdioTransport {
  readonly transport: McpTransport
  readonly group: ProcessGroup
}

/**
 * `onGone` runs later, when the process has ended, for whatever reason; `onStderr` gets its log lines. A failure is returned
 * when it is known at once that there will be no process.
 */
export const startTransport = (
  command: McpStdioCommand,
  limits: StdioLimits,
  guardian: Guardian,
  tell: TellDefect,
  events: McpTransportEvents,
  onGone: () => void,
  onStderr: (line: string) => void
): StdioTransport | TargetFailure => {
  let over = false
  const die = (failure: TargetFailure) => {
    if (over) return
    over = true
    events.onDeath(failure)
  }
  const group = startProcessGroup(command, limits.graceMillis, guardian, tell, (error) => {
    die(error === undefined ? closed : notStarted(error))
    onGone()
  })
  if (group instanceof Error) return notStarted(group)
  const { child, container } = group
  const output = new Lines(limits.lineBytes, (line) => {
    if (!over) events.onMessage(line, undefined, undefined)
  })
  const said = contained(container, (chunk: Buffer) => {
    if (over || output.push(chunk)) return
    die(tooLong)
    group.kill()
  })
  const log = new Lines(stderrLineBytes, onStderr)
  const logged = contained(container, (chunk: Buffer) => {
    if (!log.push(chunk)) onStderr("(a longer line was dropped)")
  })
  const flushed = contained(container, () => log.flush())
  child.stdout.on("data", said).on("error", ignore)
  child.stderr.on("data", logged).on("close", flushed).on("error", ignore)

  return {
    group,
    transport: {
      ...sharedChannel,
      send: ({ message, stream, expectsAnswer }) => {
        if (over) return events.onEnd(stream, closed)
        if (child.stdin.writableLength > limits.queuedBytes) return events.onEnd(stream, notReading)
        child.stdin.write(`${message}\n`)
        if (!expectsAnswer) events.onEnd(stream, undefined)
      },
      listen: (stream) => events.onOpen(stream),
      close: () => {
        over = true
        group.stop()
      }
    }
  }
}
