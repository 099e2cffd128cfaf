/**
 * Port: files that the configuration names: keys, key sets, certificates. They are read when it is compiled, never for a
 * request; when one changes, the configuration is to be compiled anew, unless whoever read it follows the file by itself.
 */
import { Context, Data, type Effect, type Scope } from "effect"

export class FileUnreadable extends Data.TaggedError("FileUnreadable")<{
  readonly path: string
  readonly detail: string
}> {
  override get message() {
    return `cannot read ${this.path}: ${this.detail}`
  }
}

/** The folder of the configuration file, in which a relative path is looked for first; `undefined` where there is none. */
export const ConfigurationFolder = Context.Reference<string | undefined>("headgate/services/ConfigurationFolder", {
  defaultValue: () => undefined
})

/** Files that the configuration names, as a service. */
export class Files extends Context.Service<
  Files,
  {
    /** The text of a file, without white space around it. It is watched as long as the scope lasts. */
    readonly read: (path: string) => Effect.Effect<string, FileUnreadable, Scope.Scope>
    /** The same as it is now, whatever becomes of it. */
    readonly text: (path: string) => Effect.Effect<string, FileUnreadable>
    /** Runs an effect each time that one of the files has another text: whoever follows them needs no new configuration. */
    readonly follow: (
      paths: ReadonlyArray<string>,
      changed: Effect.Effect<void>
    ) => Effect.Effect<void, never, Scope.Scope>
    /** Ends when files have changed that are watched, with the path of one of them; however many did, once. */
    readonly changed: Effect.Effect<string>
  }
>()("headgate/services/Files") {}
