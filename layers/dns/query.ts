/** Questions to name servers, asked by c-ares: on its own sockets, and not in the threads that node shares with files and digests. */
import { Resolver } from "node:dns"
import { contained, nobody } from "../../src/services/contained.ts"

/** What came of a question. A time to live is in seconds. */
export type Outcome =
  | { readonly addresses: ReadonlyArray<string>; readonly ttl: number }
  /** Whoever answers for the name says that there is none. */
  | "none"
  /** Nobody could say; the code of the resolver. */
  | { readonly failed: string }

export type Query = (name: string, family: "v4" | "v6", done: (outcome: Outcome) => void) => void

export interface QueryOptions {
  /** Addresses with ports. `undefined`: those of the system. */
  readonly servers: ReadonlyArray<string> | undefined
  /** Milliseconds until a server is asked again. */
  readonly timeout: number
  /** How often. */
  readonly tries: number
}

/** Codes that say that there is no such name, or none of this family, and not that nobody could say. */
const absent = new Set(["ENOTFOUND", "ENODATA", "EBADNAME", "ENONAME"])

/** @returns the questions, and how to end those that are open. */
export const makeQuery = (options: QueryOptions): { readonly query: Query; readonly close: () => void } => {
  const { servers, timeout, tries } = options
  const resolver = new Resolver({ timeout, tries })
  if (servers !== undefined) resolver.setServers(servers)
  return {
    query: (name, family, done) => {
      const answered = contained(
        nobody,
        (
          error: NodeJS.ErrnoException | null,
          found?: ReadonlyArray<{ readonly address: string; readonly ttl: number }>
        ) => {
          if (error !== null || found === undefined) {
            const code = error?.code ?? "ENODATA"
            done(absent.has(code) ? "none" : { failed: code })
          } else if (found.length === 0) done("none")
          else
            done({
              addresses: [...new Set(found.map(({ address }) => address))],
              ttl: Math.min(...found.map(({ ttl }) => ttl))
            })
        }
      )
      if (family === "v4") resolver.resolve4(name, { ttl: true }, answered)
      else resolver.resolve6(name, { ttl: true }, answered)
    },
    close: () => resolver.cancel()
  }
}
