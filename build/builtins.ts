/**
 * Node's own modules, for bundles, taken without the module namespace that an `import` makes of them: for `node:http` that
 * alone loads the whole of `fetch` and costs more than starting the runtime.
 */
import { builtinModules } from "node:module"
import type { Plugin } from "rolldown"
import { exportsOf, loadedLate } from "./late.ts"

const prefix = "\0builtin:"

/** Those that take milliseconds to load, and that many starts have no use for. */
const late = new Set(
  ["child_process", "crypto", "http2", "https", "perf_hooks", "readline", "tls", "v8", "zlib"].map(
    (name) => `node:${name}`
  )
)

/** A module that exports what `name` exports, of which a bundle keeps what it uses. */
const facade = (name: string): string => {
  const whole = process.getBuiltinModule(name) as Readonly<Record<string, unknown>>
  const own = `process.getBuiltinModule(${JSON.stringify(name)})`
  if (late.has(name)) return loadedLate(own, whole)
  const names = exportsOf(whole)
  return [
    `const own = /* @__PURE__ */ ${own}`,
    "const member = (name) => own[name]",
    // A name may be a reserved word, so each is exported under an alias.
    ...names.map((each, i) => `const _${i} = /* @__PURE__ */ member("${each}")`),
    `export { ${["own as default", ...names.map((each, i) => `_${i} as ${each}`)].join(", ")} }`
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
