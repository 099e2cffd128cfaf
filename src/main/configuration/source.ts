/** Where the configuration comes from: a file that is watched, or text that is read once. */
import { accessSync, constants, existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs"
import { homedir } from "node:os"
import { dirname, join } from "node:path"
import { buffer } from "node:stream/consumers"
import { Data, Effect } from "effect"
import type { Environment } from "../../../spec/config/expand.ts"
import type { ConfigurationText } from "../../check/check.ts"

export interface ConfigurationSource {
  /** For messages: the path of the file, `<stdin>` or `<inline>`. */
  readonly name: string
  readonly read: Effect.Effect<string, UnreadableConfiguration>
  /** The file to watch; absent when the text cannot change. */
  readonly file: string | undefined
  /** What to say at the start of a file that nobody named. */
  readonly note?: string | undefined
}

/** The folder of this user, by the name that the system has for it: what a leading `~` stands for. */
export const homeOf = (env: Environment): string | undefined => env["HOME"] ?? env["USERPROFILE"]

/** A text of it as it is checked: what it refers to is in the environment, and in files beside it. */
export const configurationText = (
  { name, file }: ConfigurationSource,
  text: string,
  env: Environment = process.env
): ConfigurationText => ({ name, text, env, home: homeOf(env), folder: file && dirname(file) })

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

const reasons: Readonly<Record<string, string>> = {
  ENOENT: "there is no such file",
  EISDIR: "it is a folder; name the file in it",
  ENOTDIR: "a part of its path is no folder",
  EACCES: "this process may not read it",
  EPERM: "this process may not read it",
  ELOOP: "its links lead back to themselves"
}

const reason = (cause: unknown) =>
  cause instanceof Error && "code" in cause && reasons[String(cause.code)] !== undefined
    ? reasons[String(cause.code)]
    : cause instanceof TypeError
      ? "it is not UTF-8"
      : cause instanceof Error
        ? cause.message
        : String(cause)

const ownManagement = `# Metrics and the readiness check, for this machine alone.
config:
  statsAddr: localhost:15020
  readinessAddr: localhost:15021
`
const ownAddress = `    # Who may connect: this machine alone. Without this line, every machine that reaches it.
    address: localhost
`

/** What a container publishes it decides by itself; elsewhere nobody but the user of the machine asked for it. */
const initial = (isMounted: boolean) => `# yaml-language-server: $schema=http://localhost:15000/config.schema.json
# Created at the first start. The proxy answers on this port; see the README for what to add.
${isMounted ? "" : ownManagement}gateways:
  default:
    port: 4000
${isMounted ? "" : ownAddress}`

/** A variable that is set to nothing counts as absent. */
const given = (env: Environment, name: string): string | undefined => env[name] || undefined

/**
 * The file that is used when none is named: `config.yaml` in the folder that a container mounts where that exists, else in
 * the user's configuration folder.
 */
export const defaultPath = (env: Environment, mounted = "/config"): Effect.Effect<string, UnreadableConfiguration> =>
  Effect.suspend(() => {
    if (given(env, "KUBERNETES_SERVICE_HOST") !== undefined && given(env, "LOCAL_XDS_PATH") === undefined)
      return Effect.fail(new UnreadableConfiguration({ detail: "no configuration: name a file with -f" }))
    if (existsSync(mounted))
      return writable(mounted)
        ? Effect.succeed(join(mounted, "config.yaml"))
        : Effect.fail(
            new UnreadableConfiguration({ detail: `${mounted} exists but cannot be written: name a file with -f` })
          )
    if (env["HEADGATE_ENV"] === "container")
      return Effect.fail(
        new UnreadableConfiguration({ detail: `no configuration: mount one at ${mounted}, or name a file with -f` })
      )
    const folder = given(env, "XDG_CONFIG_HOME") ?? join(given(env, "HOME") ?? homedir(), ".config")
    return Effect.succeed(join(folder, "headgate", "config.yaml"))
  })

/** That file, made where there is none. */
export const defaultFile = (
  env: Environment,
  mounted = "/config"
): Effect.Effect<ConfigurationSource, UnreadableConfiguration> =>
  Effect.flatMap(defaultPath(env, mounted), (file) =>
    Effect.try({
      try: () => {
        const isNew = !existsSync(file)
        if (isNew) {
          mkdirSync(dirname(file), { recursive: true })
          writeFileSync(file, initial(dirname(file) === mounted), { flag: "wx" })
        }
        return { ...fromFile(file), note: `no file was named with -f: ${isNew ? "created" : "using"} ${file}` }
      },
      catch: (cause) => new UnreadableConfiguration({ detail: `cannot create ${file}: ${reason(cause)}` })
    })
  )

const writable = (folder: string) => {
  try {
    accessSync(folder, constants.W_OK)
    return true
  } catch {
    return false
  }
}
