/** The page of phases: the way of a request as a chart, drawn from the phases of the engine and the orders of its policies. */
import { policies } from "../../../stages/registry.ts"
import { requestSites } from "../../pipeline/site.ts"
import { type Phase, phases } from "../../pipeline/stage.ts"

const titles: Readonly<Record<Phase, string>> = {
  connection: "connection policies",
  gateway: "gateway policies",
  route: "route policies",
  backend: "backend policies",
  call: "beside the call",
  backendResponse: "backend response",
  response: "response"
}

/** What the engine itself does behind a phase. */
const behind: Partial<Readonly<Record<Phase, string>>> = { gateway: "route selection", backend: "backend call" }

/** What runs last, whatever became of the request. */
const last = phases.at(-1)!
const isRequest = (phase: Phase): boolean => requestSites.some((site) => site === phase)

const chart = (): string => {
  const steps = phases
    .filter((phase) => phase !== "connection" && phase !== "call")
    .flatMap((phase) => [
      { id: phase, text: titles[phase], stops: isRequest(phase) },
      ...(behind[phase] === undefined ? [] : [{ id: `after_${phase}`, text: behind[phase], stops: true }])
    ])
  const nodes = steps.map(({ id, text }) => `  ${id}["${text}"]`)
  const forward = steps.slice(1).map(({ id }, index) => `  ${steps[index]!.id} --> ${id}`)
  const stops = steps.filter(({ stops }) => stops).map(({ id }) => `  ${id} -. stops .-> ${last}`)
  return [
    "flowchart TD",
    "  accepted([connection])",
    `  accepted --> connection["${titles.connection}"]`,
    "  connection --> request",
    "  connection -. stops .-> closed([closed])",
    "  request([request])",
    `  request --> ${steps[0]!.id}`,
    ...nodes,
    ...forward,
    `  after_backend -.- call("${titles.call}")`,
    `  call -. stops .-> ${last}`,
    ...stops,
    "  answer([answer])",
    `  ${last} --> answer`
  ].join("\n")
}

const order = (phase: Phase): string => {
  const names = policies.orders[phase].map((name) => `\`${name}\``)
  return `| ${titles[phase]} | ${names.length === 0 ? "none yet" : names.join(", ")} |`
}

export const phasesPage = (): string => `# Phases

The way of a request, and of the connection over which it comes: policies of connections decide once, when it is made, and one that
refuses closes it without a word. A policy of a request that refuses or answers, and a route or backend that is not to be had, stop it: the response phase runs all
the same, with the nodes of the policies that were reached, so that a refusal has its CORS headers.

\`\`\`mermaid
${chart()}
\`\`\`

Within a phase, policies run in this order, whatever their order in the file. \`route …\` and \`backend …\` tell where a policy of the
response phase stands in the file.

| Phase | Policies |
|---|---|
${phases.map(order).join("\n")}

\`headgatectl graph\` draws the graph of your own file, and \`headgatectl proxy trace\` the way of one request.
`
