/**
 * Names of items in a federation: `<target>_<name>` for tools and prompts, `<target>+<uri>` for resources and tasks,
 * `ui://<target>+…` for MCP apps, and the way back. A target's name holds neither `_` nor `+`.
 */
import type { McpBackendConfig } from "./config.ts"

/** An item as its target knows it. */
export interface Owned {
  readonly target: string
  readonly name: string
}

/** RFC 3986: only a URI with a scheme is absolute; a relative one cannot carry a target. */
const hasScheme = /^[A-Za-z][A-Za-z0-9+.-]*:/
const appScheme = /^ui:\/\//i

/** What names look like to the client. */
export interface Naming {
  /** There is not exactly one target. */
  readonly multiplexing: boolean
  /** Everything goes to the one target and nothing is renamed. */
  readonly passThrough: boolean
  /** Names of tools and prompts tell their target. Without it, and without `passThrough`, the owner has to be found out. */
  readonly namesPrefixed: boolean
}

/** Follows from the number of targets and the prefix mode. */
export const namingOf = (config: Pick<McpBackendConfig, "targets" | "prefixMode">): Naming => {
  const multiplexing = config.targets.length !== 1
  const passThrough = !multiplexing && config.prefixMode !== "always"
  return { multiplexing, passThrough, namesPrefixed: !passThrough && config.prefixMode !== "never" }
}

/** A tool's or prompt's name for the client. */
export const prefixedName = (target: string, name: string): string => `${target}_${name}`

/** The owner that a prefixed name tells, or `undefined` if it tells none. */
export const splitName = (name: string): Owned | undefined => {
  const at = name.indexOf("_")
  return at <= 0 ? undefined : { target: name.slice(0, at), name: name.slice(at + 1) }
}

/** A resource's URI, or URI template, for the client; a relative one stays. */
export const prefixedUri = (target: string, uri: string): string =>
  appScheme.test(uri) ? `${uri.slice(0, 5)}${target}+${uri.slice(5)}` : hasScheme.test(uri) ? `${target}+${uri}` : uri

/** The owner that a prefixed URI tells, or `undefined` if it tells none. */
export const splitUri = (uri: string): Owned | undefined => {
  if (appScheme.test(uri)) {
    const rest = uri.slice(5)
    const at = rest.indexOf("+")
    // The delimiter belongs to the authority: behind a slash it is part of the resource's own name.
    if (at <= 0 || /[/?#]/.test(rest.slice(0, at))) return undefined
    return { target: rest.slice(0, at), name: uri.slice(0, 5) + rest.slice(at + 1) }
  }
  const at = uri.indexOf("+")
  if (at <= 0) return undefined
  const name = uri.slice(at + 1)
  return appScheme.test(name) ? undefined : { target: uri.slice(0, at), name }
}

/** A task's id for the client. */
export const prefixedTask = (target: string, task: string): string => `${target}+${task}`

/** The owner that a prefixed task id tells, or `undefined` if it tells none. */
export const splitTask = (task: string): Owned | undefined => {
  const at = task.indexOf("+")
  return at <= 0 ? undefined : { target: task.slice(0, at), name: task.slice(at + 1) }
}
