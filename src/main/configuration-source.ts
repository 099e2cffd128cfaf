/** Where the configuration comes from: a file that is watched, or text that is read once. */
import { accessSync, constants, existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs"
import { homedir } from "node:os"
import { join } from "node:path"
import { buffer } from "node:stream/consumers"
import { Data, Effect } from "effect"

export interface ConfigurationSource {
  /** For messages: the path of the file, `<stdin>` or `<inline>`. */
  readonly name: string
  readonly read: Effect.Effect<string, UnreadableConfiguration>
  /** The file to watch; absent when the text cannot change. */
  readonly file: string | undefined
}

/** There is no configuration to read. */
export class UnreadableConfiguration extends Data.TaggedError("UnreadableConfiguration")<{ readonly detail: string }> {
  override get message() {
    return this.detail
  }
}

/** Pipes and descriptors are read once: nothing to watch, nothing to write back. */
const readOnce = /^(-|\/dev\/stdin|\/dev\/fd\/\d+|\/proc\/self\/fd\/\d+)$/

/** Other encodings are refused: what they write would be served, and written back, as something else. */
const utf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true })

export const fromFile = (path: string): ConfigurationSource => {
  const once = readOnce.test(path)
  const unreadable = (cause: unknown) =>
    new UnreadableConfiguration({ detail: `cannot read ${path}: ${reason(cause)}` })
  return {
    name: path === "-" ? "<stdin>" : path,
    file: once ? undefined : path,
    read:
      path === "-"
        ? Effect.tryPromise({ try: async () => utf8.decode(await buffer(process.stdin)), catch: unreadable })
        : Effect.try({ try: () => utf8.decode(readFileSync(path)), catch: unreadable })
  }
}

export const fromText = (inline: string): ConfigurationSource => ({
  name: "<inline>",
  file: undefined,
  read: Effect.succeed(inline)
})

const reason = (cause: unknown) =>
  cause instanceof Error && "code" in cause && cause.code === "ENOENT"
    ? "there is no such file"
    : cause instanceof TypeError
      ? "it is not UTF-8"
      : cause instanceof Error
        ? cause.message
        : String(cause)

const initial = `# yaml-language-server: $schema=http://localhost:15000/config.schema.json
# Created at the first start. The proxy answers on this port; see the README for what to add.
gateways:
  default:
    port: 4000
`

/**
 * The file that is used when none is named: `config.yaml` in /config where that exists, else in the user's configuration
 * folder. It is created when it is missing.
 */
export const defaultFile = (
  env: Readonly<Record<string, string | undefined>>
): Effect.Effect<ConfigurationSource, UnreadableConfiguration> =>
  Effect.suspend(() => {
    if (env["KUBERNETES_SERVICE_HOST"] !== undefined && env["LOCAL_XDS_PATH"] === undefined)
      return Effect.fail(new UnreadableConfiguration({ detail: "no configuration: name a file with -f" }))
    const folder = existsSync("/config")
      ? "/config"
      : join(env["XDG_CONFIG_HOME"] ?? join(env["HOME"] ?? homedir(), ".config"), "headgate")
    if (folder === "/config" && !writable(folder))
      return Effect.fail(
        new UnreadableConfiguration({ detail: "/config exists but cannot be written: name a file with -f" })
      )
    if (folder !== "/config" && env["HEADGATE_ENV"] === "container")
      return Effect.fail(
        new UnreadableConfiguration({ detail: "no configuration: mount one at /config, or name a file with -f" })
      )
    const file = join(folder, "config.yaml")
    return Effect.try({
      try: () => {
        if (!existsSync(file)) {
          mkdirSync(folder, { recursive: true })
          writeFileSync(file, initial, { flag: "wx" })
        }
        return fromFile(file)
      },
      catch: (cause) => new UnreadableConfiguration({ detail: `cannot create ${file}: ${reason(cause)}` })
    })
  })

const writable = (folder: string) => {
  try {
    accessSync(folder, constants.W_OK)
    return true
  } catch {
    return false
  }
}
