/**
 * Starts the program's own threads, wherever their code is: beside the sources, among the programs of the package, or in a
 * single executable, which has no files.
 */
import { getAsset } from "node:sea"
import { Worker, type WorkerOptions } from "node:worker_threads"

/** Set where the sources are bundled. */
declare const HEADGATE_FORM: "package" | "executable" | undefined

/** Threads by name, as the sources have them; the package has them as `<name>-thread.mjs`, an executable as assets of that name. */
const sources = {
  check: "../src/check/thread.ts",
  tokenizer: "./tokenizer/thread.ts",
  passwords: "./passwords/thread.ts",
  log: "./log/thread.ts"
} as const

export const startThread = (name: keyof typeof sources, options: WorkerOptions): Worker => {
  if (typeof HEADGATE_FORM === "undefined") return new Worker(new URL(sources[name], import.meta.url), options)
  return HEADGATE_FORM === "executable"
    ? new Worker(getAsset(`${name}-thread`, "utf8"), { ...options, eval: true })
    : new Worker(new URL(`../programs/${name}-thread.mjs`, import.meta.url), options)
}
