/** `headgate http :8080 to host:port`: one port of this machine before one HTTP server. */
import { Effect } from "effect"
import { Argument, Command } from "effect/cli"
import { orExit, Unable } from "../ctl/failure.ts"
import type { Starter } from "./starter.ts"
import type { Use } from "./use.ts"

const example = "write headgate http :8080 to localhost:3000"

/** The port of `8080`, `:8080` or `localhost:8080`. */
const portOf = (word: string): number | undefined => {
  const port = Number(/^(?:localhost|127\.0\.0\.1)?:?(\d{1,5})$/.exec(word)?.[1])
  return port >= 1 && port <= 65_535 ? port : undefined
}

/** `host:port` of it, whose scheme may be written. */
const hostOf = (word: string): string | undefined => {
  const host = word.replace(/^http:\/\//, "").replace(/\/$/, "")
  const address = /^:?\d+$/.test(host) ? `localhost:${host.replace(":", "")}` : host
  return /^(?:\[[0-9a-fA-F:.]+\]|[\w.-]+):\d{1,5}$/.test(address) ? address : undefined
}

export const httpStarter = (words: ReadonlyArray<string>): Starter | Unable => {
  const [from = "", to, target = "", ...more] = words
  if (to !== "to" || more.length > 0)
    return new Unable({
      detail: `what is served, and what stands behind it, are two addresses with "to" between: ${example}`
    })
  const port = portOf(from)
  if (port === undefined) return new Unable({ detail: `${from} is no port of this machine: ${example}` })
  if (target.startsWith("https://"))
    return new Unable({
      detail: "this build does not speak TLS with an HTTP server behind a route yet: name one that takes plain HTTP"
    })
  const host = hostOf(target)
  if (host === undefined) return new Unable({ detail: `${target} is no host with a port: ${example}` })
  return {
    words: ["http", ...words],
    port,
    sections: { routes: [{ backends: [{ host }] }] },
    tries: [[`curl http://localhost:${port}/`]],
    unset: []
  }
}

export const httpCommand = <R>(use: Use<R>) =>
  Command.make(
    "http",
    {
      words: Argument.String("words").pipe(
        Argument.variadic(),
        Argument.withDescription(
          "A port of this machine, the word `to`, and host and port of a server: `:8080 to localhost:3000`."
        )
      )
    },
    ({ words }) =>
      Effect.suspend(() => {
        const starter = httpStarter(words)
        return starter instanceof Unable ? Effect.fail(starter) : use(starter)
      }).pipe(orExit())
  ).pipe(Command.withDescription("An HTTP server, behind a port of this machine."))
