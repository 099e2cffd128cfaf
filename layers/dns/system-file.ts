/**
 * The files of the system that say how names are found. They are read again when they have changed, synchronously: they are
 * small, are looked at only when a connection is opened, and node's other way waits for the threads that may all be busy.
 */
import { readFileSync, statSync } from "node:fs"
import { familyOf } from "../../src/http/ip.ts"

/** A file as it was read last; a missing one is empty. */
export class SystemFile<A> {
  readonly #path: string
  readonly #parse: (text: string) => A
  #version: string | undefined = undefined
  value: A

  constructor(path: string, parse: (text: string) => A) {
    this.#path = path
    this.#parse = parse
    this.value = parse("")
    this.refresh()
  }

  /** Whether it is another one than before. */
  refresh(): boolean {
    const version = versionOf(this.#path)
    if (version === this.#version) return false
    this.#version = version
    this.value = this.#parse(version === "" ? "" : textOf(this.#path))
    return true
  }
}

/** Empty when there is no such file, or none that we may see. */
const versionOf = (path: string): string => {
  try {
    const { mtimeMs, ctimeMs, size, ino } = statSync(path)
    return `${mtimeMs} ${ctimeMs} ${size} ${ino}`
  } catch {
    return ""
  }
}

const textOf = (path: string): string => {
  try {
    return readFileSync(path, "utf8")
  } catch {
    // Nobody may read it, or it went away just then.
    return ""
  }
}

export interface Pinned {
  readonly v4: ReadonlyArray<string>
  readonly v6: ReadonlyArray<string>
}

/** The addresses of names that stand in a hosts file (hosts(5)). */
export const parseHosts = (text: string): ReadonlyMap<string, Pinned> => {
  const hosts = new Map<string, { readonly v4: Array<string>; readonly v6: Array<string> }>()
  for (const line of text.split("\n")) {
    const [address = "", ...names] = line.replace(/#.*/, "").trim().split(/\s+/)
    const family = familyOf(address)
    if (family === 0) continue
    for (const name of names) {
      const key = name.toLowerCase()
      const pinned = hosts.get(key) ?? { v4: [], v6: [] }
      hosts.set(key, pinned)
      pinned[family === 4 ? "v4" : "v6"].push(address)
    }
  }
  return hosts
}

/** What a name is searched by, and how patiently (resolv.conf(5)). c-ares finds the servers in it by itself. */
export interface ResolverSettings {
  readonly search: ReadonlyArray<string>
  readonly ndots: number
  /** Milliseconds. */
  readonly timeout: number
  readonly tries: number
}

export const parseResolver = (text: string): ResolverSettings => {
  let search: ReadonlyArray<string> = []
  let options = ""
  for (const line of text.split("\n")) {
    const [key, ...values] = line
      .replace(/[#;].*/, "")
      .trim()
      .split(/\s+/)
    if (key === "search" || key === "domain")
      search = values.map((domain) => domain.replace(/\.$/, "")).filter((domain) => domain !== "")
    if (key === "options") options += ` ${values.join(" ")}`
  }
  const option = (pattern: RegExp, otherwise: number): number => Number(pattern.exec(options)?.[1] ?? otherwise)
  return {
    search,
    ndots: Math.min(15, option(/ ndots:(\d+)/, 1)),
    timeout: 1000 * Math.min(30, Math.max(1, option(/ timeout:(\d+)/, 1))),
    tries: Math.min(5, Math.max(1, option(/ attempts:(\d+)/, 3)))
  }
}

/** Where names of hosts are looked for. */
export interface Source {
  readonly source: "files" | "dns"
  /** A name that it does not know does not exist, whatever comes after it says. */
  readonly decides: boolean
}

const filesThenDns: ReadonlyArray<Source> = [
  { source: "files", decides: false },
  { source: "dns", decides: false }
]

/** The sources that we have, in the order of nsswitch.conf(5); the others are left out. */
export const parseOrder = (text: string): ReadonlyArray<Source> => {
  const line = /^[ \t]*hosts[ \t]*:([^#\n]*)/m.exec(text)?.[1]
  if (line === undefined) return filesThenDns
  const order: Array<Source> = []
  for (const [, name = "", actions = ""] of line.matchAll(/([\w-]+)\s*(\[[^\]]*\])?/g)) {
    // systemd reads the hosts file itself, and asks then.
    if (name === "resolve") order.push(...filesThenDns)
    else if (name === "files" || name === "dns")
      order.push({ source: name, decides: /NOTFOUND=return|!UNAVAIL=return|!TRYAGAIN=return/i.test(actions) })
  }
  return order.filter(({ source }, at) => order.findIndex((one) => one.source === source) === at)
}
