/** How the process logs from its first line on: before the configuration is decoded, only its log settings are looked at. */
import type { ConsoleOptions } from "../../layers/log/console.ts"
import type { ConfigurationSource } from "./configuration-source.ts"

/** RUST_LOG and LOG_FORMAT win over the file, so that an operator can always see more. */
export const startingLog = (
  _source: ConfigurationSource,
  env: Readonly<Record<string, string | undefined>>
): ConsoleOptions => ({
  filter: env["RUST_LOG"] ?? "info",
  format: env["LOG_FORMAT"] === "json" ? "json" : "text",
  write: (line) => process.stdout.write(line),
  now: () => Date.now()
})
