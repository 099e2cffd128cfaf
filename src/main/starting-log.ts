/** How the process logs until the configuration says more: to standard output, in batches, of which none is lost at its end. */
import { batched } from "../../layers/log/batched.ts"
import type { ConsoleOptions } from "../../layers/log/console.ts"

/** Bytes that may wait for a reader that does not read. Lines beyond them are lost, and the memory is not. */
const mostWaiting = 16 * 1024 * 1024

export interface StartingLog extends ConsoleOptions {
  /** Waits until the reader of standard output has all lines, or has gone away, or has had its time. */
  readonly drained: (millis: number) => Promise<void>
}

export const startingLog = (env: Readonly<Record<string, string | undefined>>): StartingLog => {
  const { stdout } = process
  const { write, flush } = batched((text) => {
    if (stdout.writableLength < mostWaiting) stdout.write(text)
  })
  // A full disk, or a reader that went away, must not take the proxy with it.
  stdout.on("error", () => {})
  process.once("exit", flush)
  return {
    filter: env["RUST_LOG"] ?? "info",
    format: env["LOG_FORMAT"] === "json" ? "json" : "text",
    write,
    now: () => Date.now(),
    drained: (millis) =>
      new Promise((resolve) => {
        flush()
        const timer = setTimeout(resolve, millis)
        // Called once what was written before has left, or failed to.
        stdout.write("", () => {
          clearTimeout(timer)
          resolve()
        })
      })
  }
}
