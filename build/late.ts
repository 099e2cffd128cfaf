/** What takes milliseconds to load and many starts have no use for: in a bundle it is loaded when it is used for the first time. */
import type { Plugin } from "rolldown"

/** Dependencies of which this is true: what reads expressions. */
const dependencies = new Set(["@marcbachmann/cel-js"])

const prefix = "\0late:"

const identifier = /^[A-Za-z_$][\w$]*$/

/** The names under which a module exports something, but for the whole of it. */
export const exportsOf = (whole: object): ReadonlyArray<string> =>
  Object.keys(whole).filter((name) => identifier.test(name) && name !== "default")

/**
 * What stands for an export until its module is loaded. A function is taken at its first call, so that only that one takes longer.
 * For what is neither a function nor an object nothing can stand: to use it loads the module at once.
 */
const standIn = (id: string, name: string, value: unknown): string => {
  if (typeof value === "function" && !/^[A-Z]/.test(name)) return `(...given) => (${id} = own().${name})(...given)`
  // Methods of the runtime's objects want to be called on the object itself.
  const get = `get: (_, key) => { const it = own().${name}, member = it[key]; return typeof member === "function" ? member.bind(it) : member }`
  if (typeof value === "function")
    return `new Proxy(function () {}, { ${get}, construct: (_, given, made) => Reflect.construct(own().${name}, given, made) })`
  return typeof value === "object" && value !== null ? `new Proxy({}, { ${get} })` : `own().${name}`
}

/** A module that exports what `whole` does, and evaluates `expression` for it at its first use. */
export const loadedLate = (expression: string, whole: Readonly<Record<string, unknown>>): string => {
  const names = exportsOf(whole)
  return [
    "let loaded",
    `const own = () => (loaded ??= ${expression})`,
    ...names.map((name, i) => `let _${i} = /* @__PURE__ */ (() => ${standIn(`_${i}`, name, whole[name])})()`),
    // Some import a module of Node as a whole, for one function of it.
    "const all = /* @__PURE__ */ (() => new Proxy({}, { get: (_, key) => own()[key] }))()",
    // A name may be a reserved word, so each is exported under an alias.
    `export { ${["all as default", ...names.map((name, i) => `_${i} as ${name}`)].join(", ")} }`
  ].join("\n")
}

export const lateDependencies: Plugin = {
  name: "late-dependencies",
  resolveId: {
    order: "pre",
    handler(source, _importer, { kind }) {
      if (kind !== "import-statement" || !dependencies.has(source)) return null
      return { id: `${prefix}${source}`, moduleSideEffects: false }
    }
  },
  async load(id) {
    if (!id.startsWith(prefix)) return null
    const name = id.slice(prefix.length)
    return loadedLate(`require(${JSON.stringify(name)})`, await import(name))
  }
}

/** What cuts a text into what a reader sees as characters: the pages of help need it alone, and it takes 5 ms to make. */
const segmenter = /new Intl\.Segmenter\((\w+, \{[^}]*\})\)/

export const lateSegmenter: Plugin = {
  name: "late-segmenter",
  transform: {
    filter: { id: /[\\/]effect[\\/]dist[\\/]cli[\\/]CliOutput\.js$/ },
    handler(code) {
      if (!segmenter.test(code)) this.error("effect/cli makes no segmenter any more: this can go")
      // On the same lines as before, so that maps hold.
      return { code: code.replace(segmenter, "{ segment: (text) => new Intl.Segmenter($1).segment(text) }"), map: null }
    }
  }
}
