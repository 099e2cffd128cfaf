/** The values of the variables that a file reads: those that are set and still cannot be meant. */
import { type Environment, expand } from "../../../spec/config/expand.ts"
import { source } from "../../../spec/config/source.ts"
import { type Ailment, warning } from "./ailment.ts"

const oddities: ReadonlyArray<readonly [odd: RegExp, what: string, remedy: string]> = [
  [/^$/, "is set to nothing", "give it its value, or a default behind :- in the file"],
  [/[\r\n]/, "holds a line break", 'set it without: NAME="$(cat file)" leaves those at the end out'],
  [/^\s|\s$/, "begins or ends with a blank", "set it without"],
  [/^(["']).*\1$/, "has quotes around its value, as files of variables are often written", "set it without quotes"],
  [/^(?:<.*>|x{4,}|changeme|todo|your[-_ ].*)$/i, "holds a placeholder", "give it its value"]
]

/** Values are never told. */
export const variableAilments = (name: string, text: string, env: Environment): ReadonlyArray<Ailment> => {
  const told = new Set<string>()
  return expand(text, env, undefined).replacements.flatMap(({ sourceStart, sourceEnd }) => {
    const [, variable, fallback] = /^\$\{?([A-Za-z_]\w*)(:-)?/.exec(text.slice(sourceStart, sourceEnd)) ?? []
    const value = variable === undefined ? undefined : env[variable]
    if (variable === undefined || value === undefined || told.has(variable)) return []
    told.add(variable)
    const odd = oddities.find(([odd]) => odd.test(value) && !(value === "" && fallback !== undefined))
    if (odd === undefined) return []
    const { line, column } = source(text).position(sourceStart)
    return [
      warning("variables", `${name}:${line}:${column}: ${variable} ${odd[1]}`, odd[2].replaceAll("NAME", variable))
    ]
  })
}
