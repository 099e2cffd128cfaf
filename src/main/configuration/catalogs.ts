/**
 * The cost catalogue of a configuration: its sources merged in order, and merged anew when one of its files changes. A
 * change that cannot be read leaves the last good state of that file in force.
 */
import { existsSync } from "node:fs"
import { dirname } from "node:path"
import { Effect, Result, type Scope } from "effect"
import { watchFile } from "../../../layers/file-watch.ts"
import { placed, textOf } from "../../../layers/files.ts"
import type { Catalog as CatalogSource, ModelCatalogSource } from "../../../spec/standalone/catalog.ts"
import type { ConfigProblem } from "../../pipeline/stage.ts"
import { type Catalog, compileCatalog } from "../../protocols/llm/cost/catalog.ts"
import { decodeCatalog, type ModelCatalog } from "../../protocols/llm/cost/catalog-schema.ts"
import type { Catalogs } from "../../protocols/llm/cost/catalogs.ts"
import { ConfigurationFolder } from "../../services/files.ts"
import { Log } from "../../services/log.ts"

type Source = (typeof ModelCatalogSource)["Type"]

export const noCatalogs: Catalogs["Service"] = { current: () => undefined }

/** Reads the sources and watches their files. A file that is not there is tolerated as long as another source is. */
export const openCatalogs = (
  sources: ReadonlyArray<Source> | undefined
): Effect.Effect<Catalogs["Service"], ReadonlyArray<ConfigProblem>, Log | Scope.Scope> => {
  if (sources === undefined || sources.length === 0) return Effect.succeed(noCatalogs)
  return Effect.gen(function* () {
    const { log } = yield* Log
    const folder = yield* ConfigurationFolder
    const parts: Array<ModelCatalog | undefined> = []
    const problems: Array<ConfigProblem> = []
    const missing: Array<ConfigProblem> = []
    const fromFile = (file: string) =>
      Effect.flatMap(textOf(file, folder), (text) =>
        Effect.mapError(Effect.fromResult(parsed(text)), (message) => ({
          _tag: "CatalogInvalid" as const,
          message: `${file}: ${message}`
        }))
      )

    for (const [index, source] of sources.entries()) {
      const path = ["config", "modelCatalog", index]
      if (source.file !== undefined) {
        const found = yield* Effect.result(fromFile(source.file))
        if (Result.isSuccess(found)) parts[index] = found.success
        else {
          const { _tag, message } = found.failure
          ;(_tag === "FileUnreadable" ? missing : problems).push({ path: [...path, "file"], message })
        }
      } else if (source.inline !== undefined) {
        const { inline } = source
        const found = typeof inline === "string" ? parsed(inline) : Result.succeed(completed(inline))
        if (Result.isSuccess(found)) parts[index] = found.success
        else problems.push({ path: [...path, "inline"], message: found.failure })
      }
    }
    const loaded = () => parts.filter((part) => part !== undefined)
    if (problems.length > 0) return yield* Effect.fail(problems)
    if (loaded().length === 0) return yield* Effect.fail(missing)
    for (const { message } of missing)
      log("warn", "llm", "a source of the model catalogue is missing", { error: message })

    let current: Catalog = compileCatalog(loaded())
    for (const [index, { file }] of sources.entries()) {
      if (file === undefined) continue
      const watched = placed(file, folder)
      if (!existsSync(dirname(watched))) log("warn", "llm", "a source of the model catalogue is not watched", { file })
      log("info", "proxy", `Watching file: ${file}`)
      yield* watchFile({
        file: watched,
        debounce: 250,
        changed: () =>
          Effect.map(Effect.result(fromFile(file)), (found) => {
            if (Result.isFailure(found)) {
              log("error", "llm", "the model catalogue could not be reloaded", { error: found.failure.message })
              return
            }
            parts[index] = found.success
            current = compileCatalog(loaded())
            log("info", "llm", "reloaded the model catalogue", { file })
          })
      })
    }
    return { current: () => current }
  })
}

/** A catalogue as JSON text; or what is wrong with it. */
const parsed = (text: string): Result.Result<ModelCatalog, string> => {
  try {
    return decodeCatalog(JSON.parse(text))
  } catch {
    return Result.fail("not JSON")
  }
}

/** One that was decoded with the configuration, where empty parts may be left out. */
const completed = ({ providers = {} }: (typeof CatalogSource)["Type"]): ModelCatalog => ({
  providers: Object.fromEntries(Object.entries(providers).map(([name, { models = {} }]) => [name, { models }]))
})
