/** Port: files that the configuration names. Read when it is compiled, never for a request. */
import { Context, Data, type Effect } from "effect"

export class FileUnreadable extends Data.TaggedError("FileUnreadable")<{
  readonly path: string
  readonly detail: string
}> {
  override get message() {
    return `cannot read ${this.path}: ${this.detail}`
  }
}

export class Files extends Context.Service<
  Files,
  {
    /** The text of a file, without white space around it. */
    readonly read: (path: string) => Effect.Effect<string, FileUnreadable>
  }
>()("headgate/services/Files") {}
