/** How the process logs until the configuration says more: to standard output, in batches. */
import { batched } from "../../layers/log/batched.ts"
import type { ConsoleOptions } from "../../layers/log/console.ts"

export const startingLog = (env: Readonly<Record<string, string | undefined>>): ConsoleOptions => {
  const { write, flush } = batched((text) => process.stdout.write(text))
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
