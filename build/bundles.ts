/** The JavaScript of the package, with source maps: one bundle of the programs and their threads, one of the exports. */
import { execFileSync } from "node:child_process"
import { cpSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { join, relative } from "node:path"
import { type InputOption, type OutputChunk, type OutputOptions, type RolldownOutput, rolldown } from "rolldown"
import { builtins, fileOf, laterBuiltins } from "./builtins.ts"
import { executable, library, programs, threads } from "./entries.ts"
import { lateDependencies, lateSegmenter } from "./late.ts"

/** What `version.ts` says in place of asking the checkout. */
const built = (root: string) => {
  const { version } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"))
  const head = () => execFileSync("git", ["rev-parse", "HEAD"], { cwd: root, encoding: "utf8" }).trim()
  return JSON.stringify({ version, git_revision: process.env["HEADGATE_GIT_REVISION"] ?? head() })
}

/** What becomes of these sources in that form, by what is done with the bundler. */
const bundled = async (
  root: string,
  form: "package" | "executable",
  { input, external = [] }: { readonly input: InputOption; readonly external?: Array<RegExp> },
  output: OutputOptions
): Promise<RolldownOutput> => {
  const build = await rolldown({
    cwd: root,
    input,
    external,
    platform: "node",
    plugins: [builtins, lateDependencies, lateSegmenter, ...(form === "executable" ? [laterBuiltins] : [])],
    transform: {
      define: {
        HEADGATE_BUILT: built(root),
        HEADGATE_FORM: JSON.stringify(form),
        // A module that asks whether it is CommonJS would take that of a script on the command line for its own.
        __filename: "undefined"
      }
    },
    onLog: (level, log, handle) => (level === "warn" ? handle("error", log) : handle(level, log))
  })
  try {
    return await build.write({ minify: true, ...output })
  } finally {
    await build.close()
  }
}

const bundle = (
  root: string,
  dir: string,
  { input, external }: { readonly input: Readonly<Record<string, string>>; readonly external: Array<RegExp> },
  minify: NonNullable<OutputOptions["minify"]>
): Promise<RolldownOutput> =>
  bundled(
    root,
    "package",
    { input, external },
    {
      dir,
      minify,
      format: "esm",
      entryFileNames: "[name].mjs",
      chunkFileNames: "[name]-[hash].mjs",
      // Each would be a file of its own, and it is the number of files that takes time.
      codeSplitting: {
        groups: [
          { name: fileOf, debugName: "node" },
          // What most programs and commands share in pieces of a few lines.
          {
            name: "small",
            test: /\/(layers|spec|src\/(http|pipeline|services))\//,
            maxModuleSize: 3000,
            minShareCount: 4
          },
          // What every configuration is compiled with; the engines that are loaded only with some of them need pieces of it.
          {
            name: "served",
            test: /\/(stages|src\/(compile|pipeline|protocols|routing))\//,
            maxModuleSize: 6000,
            minShareCount: 4
          }
        ]
      },
      sourcemap: true
    }
  )

const chunksOf = ({ output }: RolldownOutput): ReadonlyArray<OutputChunk> =>
  output.filter((part) => part.type === "chunk")

/** The files of others that went into the bundles, by path. */
const modulesOf = (chunks: ReadonlyArray<OutputChunk>): ReadonlyArray<string> =>
  chunks.flatMap(({ modules }) => Object.entries(modules).flatMap(([id, { code }]) => (code === null ? [] : [id])))

/** The text of other people's modules is of no use in a stack trace, and most of the size; their names and lines stay. */
const slimMaps = (chunks: ReadonlyArray<OutputChunk>, root: string, dir: string): void => {
  for (const { fileName, modules, sourcemapFileName } of chunks) {
    if (sourcemapFileName === null) continue
    const file = join(dir, sourcemapFileName)
    if (Object.keys(modules).every((id) => /[\\/]gpt-tokenizer[\\/]/.test(id))) {
      // Tables, line by line.
      rmSync(file)
      const code = readFileSync(join(dir, fileName), "utf8")
      writeFileSync(join(dir, fileName), code.replace(/\n\/\/# sourceMappingURL=.*\s*$/, "\n"))
      continue
    }
    const map = JSON.parse(readFileSync(file, "utf8"))
    map.sourcesContent = map.sourcesContent.map((content: string | null, i: number) =>
      map.sources[i].includes("node_modules") ? null : content
    )
    // As they stand in the repository, whichever folder it was built in.
    map.sources = map.sources.map((source: string) => relative(root, join(dir, source)))
    writeFileSync(file, JSON.stringify(map))
  }
}

export const bundlePrograms = async (root: string, dist: string): Promise<ReadonlyArray<string>> => {
  const dir = join(dist, "programs")
  const chunks = chunksOf(await bundle(root, dir, { input: programs, external: [] }, true))
  slimMaps(chunks, root, dir)
  return modulesOf(chunks)
}

/** Scripts, each whole: the executable's own, and one for each thread. */
export const bundleExecutable = async (root: string, dir: string): Promise<ReadonlyArray<string>> => {
  const scripts = { main: executable, ...Object.fromEntries(threads.map((name) => [name, programs[name]])) }
  const modules: Array<string> = []
  for (const [name, input] of Object.entries(scripts)) {
    const output: OutputOptions = { file: join(dir, `${name}.cjs`), format: "cjs", codeSplitting: false }
    modules.push(...modulesOf(chunksOf(await bundled(root, "executable", { input }, output))))
  }
  return modules
}

/** Node prints the line of the code, whole, from which an error came that nobody caught, and the names of its functions. */
const readable = { compress: true, mangle: false, codegen: { removeWhitespace: false } } as const

/**
 * Each export is a file that checks for `effect` before anything that needs it is loaded: what fails in the middle of
 * linking cannot be explained.
 */
export const bundleLibrary = async (root: string, dist: string): Promise<ReadonlyArray<string>> => {
  const dir = join(dist, "library")
  const inner = Object.fromEntries(Object.entries(library).map(([name, file]) => [`${name}.main`, file]))
  const chunks = chunksOf(await bundle(root, dir, { input: inner, external: [/^effect($|\/)/] }, readable))
  slimMaps(chunks, root, dir)
  cpSync(join(import.meta.dirname, "effect-peer.mjs"), join(dir, "effect-peer.mjs"))
  cpSync(join(root, "src/main/testing/issuer.jwks.json"), join(dir, "issuer.jwks.json"))
  for (const name of Object.keys(library)) {
    const { exports } = chunks.find(({ fileName }) => fileName === `${name}.main.mjs`)!
    const names = exports.join(", ")
    const code = `import "./effect-peer.mjs"\nconst { ${names} } = await import("./${name}.main.mjs")\nexport { ${names} }\n`
    writeFileSync(join(dir, `${name}.mjs`), code)
  }
  return modulesOf(chunks)
}
