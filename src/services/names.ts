/**
 * Port: the addresses of names. They are kept for as long as whoever answers for a name allows, and are looked up again
 * while connections to them stand. Asked when a connection is opened, never for a request.
 */
import { Context, Data } from "effect"

export type Families = "both" | "v4" | "v6"

/** What is known of a name. A family that is `undefined` is still being asked for; one that is not wanted is empty. */
export interface Known {
  readonly v4: ReadonlyArray<string> | undefined
  readonly v6: ReadonlyArray<string> | undefined
}

/** A name has no address, or nobody who knows it answers. */
export class NameUnresolved extends Data.TaggedError("NameUnresolved")<{
  /** As the resolver says it: `ENOTFOUND`, `ESERVFAIL`, `ETIMEOUT` …. */
  readonly code: string
}> {}

/** Told what is known each time that it is more, until both families are. */
export type Hear = (known: Known | NameUnresolved) => void

export class Names extends Context.Service<
  Names,
  {
    /** Perhaps tells before it returns. Returns how to call it off. */
    readonly ask: (name: string, families: Families, hear: Hear) => () => void
    /** Keeps a name fresh, and tells all of its addresses each time that they are others. Returns how to stop. */
    readonly follow: (name: string, families: Families, changed: (addresses: ReadonlySet<string>) => void) => () => void
  }
>()("headgate/services/Names") {}
