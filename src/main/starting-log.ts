/** How the process logs until the configuration says more: to standard output, in batches. */
import { batched } from "../../layers/log/batched.ts"
import type { ConsoleOptions } from "../../layers/log/console.ts"

/** Bytes that may wait for a reader that does not read. Lines beyond them are lost, and the memory is not. */
const mostWaiting = 16 * 1024 * 1024

export const startingLog = (env: Readonly<Record<string, string | undefined>>): ConsoleOptions => {
  const { write, flush } = batched((text) => {
    if (process.stdout.writableLength < mostWaiting) process.stdout.write(text)
  })
  // A full disk, or a reader that went away, must not take the proxy with it.
  process.stdout.on("error", () => {})
  process.once("exit", flush)
  return {
    filter: env["RUST_LOG"] ?? "info",
    format: env["LOG_FORMAT"] === "json" ? "json" : "text",
    write,
    now: () => Date.now()
  }
}
