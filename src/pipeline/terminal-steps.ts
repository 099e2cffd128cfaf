/** The nodes of a terminal, compiled into their places: they take part in the phases around its call like those of any policy. */
import { outcomesAt } from "./compile.ts"
import type { Exchange } from "./exchange.ts"
import { isVariable } from "./expressions.ts"
import { Latency, type StageTimes } from "./latency.ts"
import type { Step } from "./run.ts"
import type { AnySlot, ConfigPath } from "./stage.ts"
import type { TerminalNode } from "./terminal.ts"

/** Of the slots that a part of a terminal declares, those that it reads: a variable only where an expression has it. */
export const readBy = (declared: ReadonlyArray<AnySlot>, reads: ReadonlyArray<AnySlot>): ReadonlyArray<AnySlot> =>
  declared.filter((slot) => !isVariable(slot) || reads.includes(slot))

/**
 * @param kind the key of the backend in configuration files.
 * @param path where the configuration of the terminal stands.
 * @param reads what the terminal reads of others, as it was configured.
 */
export const terminalSteps = (
  kind: string,
  path: ConfigPath,
  nodes: ReadonlyArray<TerminalNode<AnySlot>>,
  reads: ReadonlyArray<AnySlot>,
  times: StageTimes
): Readonly<Record<TerminalNode<AnySlot>["phase"] | "afterwards", ReadonlyArray<Step>>> => {
  const stepOf = ({ name, phase, run, outcomes, when, ...node }: TerminalNode<AnySlot>): Step => {
    const at = phase === "request" ? "backend" : phase
    return {
      policy: kind,
      node: name,
      site: "backend",
      phase: at,
      path: node.path ?? path,
      failOpen: node.failOpen ?? false,
      // The engine alone calls steps, and what it hands them is the exchange itself.
      run: (view, passage) => run(view as Exchange, passage),
      outcomes: outcomesAt(outcomes, when !== undefined, false),
      reads: readBy(node.reads ?? [], reads),
      writes: node.writes ?? [],
      condition: when?.text,
      holds: when?.holds,
      latency: new Latency(times(at, kind, name))
    }
  }
  const steps = nodes.map((node) => ({ node, step: stepOf(node) }))
  const those = (are: (node: TerminalNode<AnySlot>) => boolean) =>
    steps.flatMap(({ node, step }) => (are(node) ? [step] : []))
  return {
    request: those(({ phase }) => phase === "request"),
    backendResponse: those(({ phase }) => phase === "backendResponse"),
    afterwards: those(({ afterwards }) => afterwards === true)
  }
}
