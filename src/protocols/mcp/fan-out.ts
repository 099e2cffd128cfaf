/** One request to several targets: sends it, waits for all, and applies the failure mode. */
import type { Call, CallOutlet, RequestOutlet } from "./call.ts"
import { errorOf, type RpcError, type RpcResponse } from "./envelope.ts"
import { code, type McpFailure } from "./errors.ts"
import type { TargetLink } from "./target-link.ts"

/** A target's answer. */
export interface Answered {
  readonly link: TargetLink
  readonly answer: RpcResponse
}

/** What came of all calls together. */
export type Outcome =
  /** At least one target answered; in the order of the links. */
  | { readonly _tag: "Answers"; readonly answers: ReadonlyArray<Answered> }
  /** The error answer of a target stands for the whole. */
  | { readonly _tag: "Error"; readonly error: RpcError }
  | { readonly _tag: "Failure"; readonly failure: McpFailure }
  /** The client gave the request up. */
  | { readonly _tag: "Cancelled" }

/** How to wait, and what to make of failures. */
export interface FanOutRule {
  readonly failOpen: boolean
  /** `-32601` says that a target does not serve the method: it counts as an answer without content. */
  readonly lenient: boolean
  /** 0: no limit. */
  readonly timeoutMillis: number
  readonly after: (millis: number, action: () => void) => () => void
  /** Gets what the targets say in the course of the calls. */
  readonly related: RequestOutlet
}

type Part = RpcResponse | RpcError | McpFailure | "cancelled" | undefined

const timedOut: McpFailure = { _tag: "TargetTimeout", status: 504, message: "upstream call timeout" }

const isMessage = (part: Part): part is RpcResponse | RpcError => typeof part === "object" && "kind" in part

/** `call` makes the request for one target, to report to the given outlet. `done` runs once. */
export const fanOut = (
  links: ReadonlyArray<TargetLink>,
  rule: FanOutRule,
  call: (link: TargetLink, out: CallOutlet) => Call,
  none: McpFailure,
  done: (outcome: Outcome) => void
) => {
  const parts: Array<Part> = links.map(() => undefined)
  const calls: Array<Call> = []
  let open = links.length
  let over = false
  let stopTimer = () => {}

  const finish = (outcome: Outcome) => {
    if (over) return
    over = true
    stopTimer()
    for (const [index, one] of calls.entries()) if (parts[index] === undefined) links[index]!.abandon(one)
    done(outcome)
  }

  const notServed = (part: Part) =>
    rule.lenient && isMessage(part) && part.kind === "error" && errorOf(part).code === code.methodNotFound

  const failing = (part: Part): Outcome | undefined => {
    if (part === undefined || part === "cancelled") return undefined
    if (!isMessage(part)) return { _tag: "Failure", failure: part }
    return part.kind === "error" ? { _tag: "Error", error: part } : undefined
  }

  const conclude = () => {
    const answers: Array<Answered> = []
    for (const [index, part] of parts.entries())
      if (isMessage(part) && part.kind === "response") answers.push({ link: links[index]!, answer: part })
    if (answers.length > 0) return finish({ _tag: "Answers", answers })
    const failed = parts.find((part) => failing(part) !== undefined && !notServed(part)) ?? parts.find(failing)
    finish(failing(failed) ?? { _tag: "Failure", failure: none })
  }

  const report = (index: number, part: Exclude<Part, undefined>) => {
    if (over || parts[index] !== undefined) return
    parts[index] = part
    open--
    if (part === "cancelled") return finish({ _tag: "Cancelled" })
    const failed = failing(part)
    if (failed !== undefined && !rule.failOpen && !notServed(part)) return finish(failed)
    if (open === 0) conclude()
  }

  if (links.length === 0) return finish({ _tag: "Failure", failure: none })
  if (rule.timeoutMillis > 0)
    stopTimer = rule.after(rule.timeoutMillis, () => {
      for (const [index, one] of calls.entries()) {
        if (over || parts[index] !== undefined) continue
        links[index]!.abandon(one)
        report(index, timedOut)
      }
    })
  for (const [index, link] of links.entries()) {
    if (over) return
    const out: CallOutlet = {
      message: (text, mark) => rule.related.message(text, mark),
      whenDrained: (resume) => rule.related.whenDrained(resume),
      gone: () => rule.related.gone(),
      late: () => rule.related.late(),
      answered: (answer) => report(index, answer),
      failed: (failure) => report(index, failure),
      suspended: () => report(index, "cancelled")
    }
    const one = call(link, out)
    calls[index] = one
    link.call(one)
  }
}
