/** The fences of a page: what it shows in code. */

export interface Fence {
  readonly language: string
  /** What stands behind the language: `refused`, `file=keys.json`. */
  readonly marks: ReadonlyMap<string, string>
  readonly text: string
  /** Where the fence opens, from 1. */
  readonly line: number
}

export const fencesOf = (page: string): ReadonlyArray<Fence> =>
  [...page.matchAll(/^```(\w*)([^\n]*)\n(.*?)^```$/gms)].map((match) => ({
    language: match[1]!,
    marks: new Map(
      match[2]!
        .split(" ")
        .filter((mark) => mark !== "")
        .map((mark) => {
          const [name = "", ...value] = mark.split("=")
          return [name, value.join("=")]
        })
    ),
    text: match[3]!,
    line: page.slice(0, match.index).split("\n").length
  }))

/** What a user would have in the environment: whatever the text asks for without a default. */
export const environmentOf = (text: string): Readonly<Record<string, string>> =>
  Object.fromEntries(
    [...text.replace(/^# yaml-language-server.*$/m, "").matchAll(/\$\{?([A-Z_]+)(?![A-Z_]|:-)/g)].map(([, name]) => [
      name!,
      name === "SESSION_KEY" ? "0a".repeat(32) : `${name}-value`
    ])
  )
