/** Rules that a client evades by sending a header twice: several lines are a list, and a list is no text. */
import type { Complaint } from "../../../spec/config/positions.ts"
import type { DecidingExpression } from "../../../spec/traits.ts"
import { stepOf } from "../../cel/access.ts"
import { macroOf } from "../../cel/macros.ts"
import { parse } from "../../cel/parse.ts"
import { childrenOf, type Node } from "../../cel/syntax.ts"
import type { Configuration } from "../read.ts"
import { warn } from "./finding.ts"
import { decidingExpressions } from "./rules.ts"

export const repeatedHeaders = (configuration: Configuration): ReadonlyArray<Complaint> => {
  const told = new Map<string, Complaint>()
  for (const { source, path, effect } of decidingExpressions(configuration)) {
    const syntax = effect === undefined ? undefined : parse(source)
    // What does not parse is told where the policy is compiled.
    if (effect === undefined || syntax === undefined || "message" in syntax) continue
    for (const name of evadedBy(syntax, effect, effect !== "deny"))
      told.set(
        `${path.join("/")} ${name}`,
        warn(
          "repeated-header",
          path,
          `who sends ${name} twice evades this: several lines are a list; request.headers.raw()["${name}"].exists(value, …) sees each of them`
        )
      )
  }
  return [...told.values()]
}

/**
 * The headers which let a rule come out as whoever evades it wants, when they have several lines: an equality or a membership
 * is false then, an inequality true, and anything else an error, by which a rule is false.
 * @param wanted what the part is to be.
 */
const evadedBy = (node: Node, effect: DecidingExpression["effect"], wanted: boolean): ReadonlySet<string> => {
  const names = new Set<string>()
  const add = (part: Node, as: boolean) => {
    for (const name of evadedBy(part, effect, as)) names.add(name)
  }
  if (node.kind === "unary") add(node.operand, node.operator === "!" ? !wanted : wanted)
  else if (node.kind === "binary") {
    const header = headerOf(node.left) ?? (node.operator === "in" ? undefined : headerOf(node.right))
    const comes = node.operator === "==" || node.operator === "in" ? false : node.operator === "!=" ? true : undefined
    if (header !== undefined && (comes === undefined ? effect === "deny" : comes === wanted)) names.add(header)
    for (const part of childrenOf(node)) add(part, wanted)
  } else if (node.kind === "call" && macroOf(node) === undefined) {
    if (effect === "deny" && node.name !== "has" && node.target !== undefined) {
      const header = headerOf(node.target)
      if (header !== undefined) names.add(header)
    }
    for (const part of childrenOf(node)) add(part, wanted)
  } else for (const part of childrenOf(node)) add(part, wanted)
  return names
}

/** The name of the header that a part reads as text: `request.headers["x-role"]`, with a default or without. */
const headerOf = (node: Node): string | undefined => {
  if (node.kind === "call" && (node.name === "default" || node.name === "coalesce") && node.args[0] !== undefined)
    return headerOf(node.args[0])
  const field = stepOf(node)
  const headers = field && stepOf(field.operand)
  if (headers?.name !== "headers" || headers.operand.kind !== "ident" || headers.operand.name !== "request")
    return undefined
  return field!.name
}
