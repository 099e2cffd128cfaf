/**
 * Port: documents at addresses that the configuration names, as key sets and descriptions of interfaces. They are fetched by the proxy
 * for itself and kept fresh in the background; no request waits for one for long.
 */
import { Context, type Effect, type Result, type Scope } from "effect"
import type { HttpFetch } from "./http-fetch.ts"

/** What becomes of the text of one. */
export interface Reading<A> {
  readonly value: A
  /** What of it cannot be used, though the rest can. */
  readonly warnings: ReadonlyArray<string>
}

/** A kind of document. Make one constant for each kind. */
export interface DocumentKind<A> {
  /** What the log calls it, as `key set`. */
  readonly name: string
  /** Whose lines in the log are about it. */
  readonly target: string
  /** The media types that are asked for. */
  readonly accept: string
  /** The most bytes that one may have. */
  readonly maxBytes: number
  /** Milliseconds after which one is fetched again whose server does not say. */
  readonly lifetime: number
  /** Its meaning, or why it has none. */
  readonly read: (text: string) => Result.Result<Reading<A>, string>
}

/** How the configuration wants one to be fetched. */
export interface DocumentCall {
  /** What tells it from other calls: of whom it asks, and as whom. Says nothing of any credential. */
  readonly identity: string
  readonly fetch: HttpFetch["Service"]["fetch"]
}

/** A document that is kept fresh. */
export interface Document<A> {
  /** `undefined` until it was loaded for the first time. The same text is the same value. */
  readonly current: () => A | undefined
  /**
   * Loads it now, unless that was tried a short time ago; ends when the attempt has, or after two seconds, whichever comes first. An
   * attempt that is under way is joined. Afterwards `current` tells what came of it so far.
   */
  readonly refresh: Effect.Effect<void>
}

/**
 * One that is opened is shared by all who open the same in the same way, and outlives a reload that does not change it. It is fetched by
 * the call of whoever opened it last, and still has it open.
 */
export class Documents extends Context.Service<
  Documents,
  {
    /** Does not wait for the document. A server that is down stops nothing: the old text stays, and it is tried again. */
    readonly open: <A>(
      kind: DocumentKind<A>,
      url: string,
      call?: DocumentCall | undefined
    ) => Effect.Effect<Document<A>, never, Scope.Scope>
  }
>()("headgate/services/Documents") {}
