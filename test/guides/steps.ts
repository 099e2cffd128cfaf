/** What a reader does with each fence of a page: the marks behind its language say so. `CONTRIBUTING.md` tells which there are. */
import { fencesOf } from "../fences.ts"

/** What the marks of a fence ask for. */
export type Use =
  /** Written to a file of the reader's folder. */
  | { readonly _tag: "File"; readonly path: string }
  /** Packages that are installed: headgate itself, and what the page uses beside it. */
  | { readonly _tag: "Install"; readonly packages: ReadonlyArray<string> }
  /** Run to its end, which is this exit code. */
  | { readonly _tag: "Run"; readonly status: number }
  /** Run in a terminal of that name, where it goes on; what ran there before is ended with Ctrl-C first. */
  | { readonly _tag: "Terminal"; readonly name: string }
  /** What the fence before printed, or what a terminal says from there on. */
  | { readonly _tag: "Output"; readonly terminal: string | undefined }
  /** Run by a judge, since it needs more than a test has. */
  | { readonly _tag: "Judge"; readonly name: string }
  /** A chart. */
  | { readonly _tag: "Chart" }

export interface Step {
  readonly language: string
  readonly use: Use
  readonly text: string
  /** As `docs/guides/secure.md:12`: where the fence opens. */
  readonly place: string
}

/** Every mark that there is; another one is a slip. `refused` and `makes` are for the test of configurations. */
const known = new Set(["file", "refused", "install", "status", "terminal", "output", "judge", "makes"])

const installed = (text: string): ReadonlyArray<string> =>
  text
    .trim()
    .split("\n")
    .flatMap((line) => {
      const [, names] = /^(?:sudo )?npm install ((?:--global )?[\w@/. -]+)$/.exec(line) ?? []
      if (names === undefined) throw new Error(`an install fence has lines like "npm install NAME": ${line}`)
      return names.split(" ").filter((name) => !name.startsWith("--"))
    })

const useOf = (language: string, marks: ReadonlyMap<string, string>, text: string): Use => {
  const [strange] = [...marks.keys()].filter((word) => !known.has(word))
  if (strange !== undefined) throw new Error(`the mark ${strange} says nothing about a fence`)
  const judge = marks.get("judge")
  if (judge !== undefined) return { _tag: "Judge", name: judge }
  const path = marks.get("file")
  if (path !== undefined) return { _tag: "File", path }
  if (marks.has("output")) return { _tag: "Output", terminal: marks.get("output") || undefined }
  if (language === "mermaid") return { _tag: "Chart" }
  if (language !== "sh") throw new Error(`a fence of ${language} is a file, output, or work for a judge`)
  if (marks.has("install")) return { _tag: "Install", packages: installed(text) }
  const terminal = marks.get("terminal")
  return terminal === undefined
    ? { _tag: "Run", status: Number(marks.get("status") ?? 0) }
    : { _tag: "Terminal", name: terminal }
}

/** The steps of a page, in their order. `page` is its path in the repository. */
export const stepsOf = (page: string, markdown: string): ReadonlyArray<Step> =>
  fencesOf(markdown).map(({ language, marks, text, line }) => {
    const place = `${page}:${line}`
    try {
      return { language, use: useOf(language, marks, text), text, place }
    } catch (error) {
      throw new Error(`${place}: ${error instanceof Error ? error.message : error}`)
    }
  })

const literally = (text: string) => text.replace(/[$()*+.?[\\\]^{|}]/g, "\\$&")

/**
 * A pattern for what a fence shows, of which `…` stands for anything in a line, and alone on a line for any lines: the whole of
 * what is printed, or a part of it that begins with a line.
 */
export const shows = (expected: string, of: "whole" | "part"): RegExp => {
  const line = (text: string) =>
    text.trim() === "…" ? "(?:.*\\n)*?" : `${text.trimEnd().split("…").map(literally).join(".*")}[ \\t]*\\n`
  const pattern = expected.trimEnd().split("\n").map(line).join("")
  return of === "whole" ? new RegExp(`^${pattern}$`) : new RegExp(`^${pattern}`, "m")
}
