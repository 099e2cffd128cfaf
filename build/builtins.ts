/**
 * Node's own modules, for bundles, taken without the module namespace that an `import` makes of them: for `node:http` that
 * alone loads the whole of `fetch` and costs more than starting the runtime.
 */
import { builtinModules } from "node:module"
import type { Plugin } from "rolldown"

const prefix = "\0builtin:"

const identifier = /^[A-Za-z_$][\w$]*$/

/** Those that take milliseconds to load and are seldom used: a call loads them, and a look at their constants. */
const late = new Set(["node:zlib"])

/** A module that exports what `name` exports, of which a bundle keeps what it uses. */
const facade = (name: string): string => {
  const whole = process.getBuiltinModule(name) as Readonly<Record<string, unknown>>
  const names = Object.keys(whole).filter((each) => identifier.test(each) && each !== "default")
  const own = `process.getBuiltinModule(${JSON.stringify(name)})`
  const taking = (each: string) =>
    !late.has(name) || /^[A-Z]/.test(each) ? "member" : typeof whole[each] === "function" ? "called" : "read"
  // A name may be a reserved word, so each is exported under an alias.
  const exported = names.map((each, i) => `_${i} as ${each}`)
  return [
    ...(late.has(name)
      ? ["let loaded", `const own = () => (loaded ??= ${own})`]
      : [`const taken = /* @__PURE__ */ ${own}`, "const own = () => taken"]),
    "const member = (name) => own()[name]",
    "const called = (name) => (...given) => own()[name](...given)",
    "const read = (name) => new Proxy({}, { get: (_, key) => own()[name][key] })",
    ...names.map((each, i) => `const _${i} = /* @__PURE__ */ ${taking(each)}("${each}")`),
    `export { ${[...(late.has(name) ? [] : ["taken as default"]), ...exported].join(", ")} }`
  ].join("\n")
}

/** The file that a module goes into, if it is one of these. What the bundler adds itself needs `node:module` before all else. */
export const fileOf = (id: string): string | null =>
  id === `${prefix}node:module` ? "node-module" : id.startsWith(prefix) ? "node" : null

export const builtins: Plugin = {
  name: "builtins",
  resolveId: {
    order: "pre",
    handler(source, _importer, { kind }) {
      const name = source.replace(/^node:/, "")
      // A require makes no such namespace.
      if (kind !== "import-statement" || !builtinModules.includes(name)) return null
      return { id: `${prefix}node:${name}`, moduleSideEffects: false }
    }
  },
  load(id) {
    return id.startsWith(prefix) ? facade(id.slice(prefix.length)) : null
  }
}

/** An import of one of these, written as a call. */
const later = /\bimport\s*\(\s*(["'`])(?:node:)?([\w/]+)\1\s*\)/g

/** What is imported later, taken in the same way: a script in an executable cannot import. */
export const laterBuiltins: Plugin = {
  name: "later-builtins",
  transform: {
    filter: { code: /\bimport\s*\(/ },
    handler: (code) =>
      code.replace(later, (whole, _quote, name) =>
        builtinModules.includes(name) ? `Promise.resolve(process.getBuiltinModule(${JSON.stringify(name)}))` : whole
      )
  }
}
