/** Static changes of a header list, compiled once: add, then set, then remove. */
import { type HeaderList, isHeaderName, isHeaderValue } from "./header-list.ts"

/** What is added to, set in and taken out of a list, by name. */
export interface HeaderChangesConfig {
  readonly add?: Readonly<Record<string, string>> | undefined
  readonly set?: Readonly<Record<string, string>> | undefined
  readonly remove?: ReadonlyArray<string> | undefined
}

/** Changes that are ready to be made. */
export interface HeaderChanges {
  readonly apply: (headers: HeaderList) => void
  /** The last value that is set for `host`, which is no header of the list. */
  readonly host: string | undefined
}

/** Compiles header changes; a name or value that HTTP forbids is a problem with its path. */
export const compileHeaderChanges = (
  config: HeaderChangesConfig
):
  | HeaderChanges
  | {
      readonly problems: ReadonlyArray<{ readonly path: ReadonlyArray<string | number>; readonly message: string }>
    } => {
  const problems: Array<{ readonly path: ReadonlyArray<string | number>; readonly message: string }> = []
  const pairs = (key: "add" | "set") =>
    Object.entries(config[key] ?? {}).map(([name, value]) => {
      if (!isHeaderName(name)) problems.push({ path: [key, name], message: "expected a header name" })
      if (!isHeaderValue(value))
        problems.push({ path: [key, name], message: "expected a header value without control characters" })
      return [name.toLowerCase(), value] as const
    })
  const adds = pairs("add")
  const sets = pairs("set")
  const removes = (config.remove ?? []).map((name, index) => {
    if (!isHeaderName(name)) problems.push({ path: ["remove", index], message: "expected a header name" })
    return name.toLowerCase()
  })
  if (problems.length > 0) return { problems }
  const isHost = ([name]: readonly [string, string]) => name === "host"
  const host = [...adds, ...sets].findLast(isHost)?.[1]
  return {
    host,
    apply: (headers) => {
      for (const [name, value] of adds) if (name !== "host") headers.add(name, value)
      for (const [name, value] of sets) if (name !== "host") headers.set(name, value)
      for (const name of removes) headers.delete(name)
    }
  }
}
