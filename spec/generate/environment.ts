/** The reference page of the environment variables. */
import type { Variable } from "../environment.ts"

/** Writes the page; `isIdle` tells which variables have no effect in this build. */
export const environmentPage = (
  variables: ReadonlyArray<Variable>,
  isIdle: (variable: Variable) => boolean
): string => {
  const rows = variables.map((variable) => {
    const { name, form, setting, fallback, description } = variable
    const target = setting === undefined ? "" : `\`config.${setting}\``
    return `| \`${name}\` | ${target} | ${form} | ${fallback} | ${description}${isIdle(variable) ? " No effect yet." : ""} |`
  })
  return `# Environment variables

They are read once, at start. A variable that stands for a setting wins over the configuration file; one that is set to nothing counts as absent. A value that is not of its form stops the start, with the name of the variable.

| Variable | Setting | Form | Without it | Meaning |
|---|---|---|---|---|
${rows.join("\n")}
`
}
