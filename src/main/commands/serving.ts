/** Serves the file that a command stands for, after it was shown: on standard error, where all of it is a file as well. */
import { createServer } from "node:net"
import { Console, Effect } from "effect"
import { BindFailed } from "../../../layers/http/address.ts"
import type { ConfigurationSource } from "../configuration/source.ts"
import { Unable } from "../ctl/failure.ts"
import { commandLine, management, type Starter, starterText } from "./starter.ts"

/** Runs a configuration until somebody ends it. */
export type Serve = (source: ConfigurationSource) => Effect.Effect<void, { readonly message: string }>

/** Whether a port of this machine can be had. */
const isFree = (port: number): Promise<boolean> =>
  new Promise((resolve) => {
    const server = createServer()
    server.once("error", () => resolve(false))
    server.listen({ port, host: "127.0.0.1" }, () => server.close(() => resolve(true)))
  })

const environmentNames = { adminAddr: "ADMIN_ADDR", statsAddr: "STATS_ADDR", readinessAddr: "READINESS_ADDR" } as const

/** Management servers whose ports another process has: a second of these commands does without, and says so. */
const taken = Effect.promise(async () => {
  const settings = Object.keys(management) as ReadonlyArray<keyof typeof management>
  const open = settings.filter((setting) => (process.env[environmentNames[setting]] ?? "") === "")
  const free = await Promise.all(open.map((setting) => isFree(management[setting])))
  return new Set(open.filter((_, index) => !free[index]))
})

/** What is told of variables that are not set. */
export const unsetText = (unset: ReadonlyArray<string>): string =>
  `${unset.join(" and ")} ${unset.length === 1 ? "is" : "are"} not set: export ${unset.map((name) => `${name}=…`).join(" ")}`

export const serving = (serve: Serve) => (starter: Starter) =>
  Effect.gen(function* () {
    const { words, unset, port } = starter
    if (unset.length > 0) return yield* new Unable({ detail: unsetText(unset) })
    const line = commandLine(words)
    const text = starterText(starter, yield* taken)
    yield* Console.error(`# headgate ${line} serves this file. To keep it: headgate init ${line}\n${text}`)
    const source = { name: `headgate ${words[0]}`, file: undefined, read: Effect.succeed(text) }
    yield* serve(source).pipe(
      Effect.mapError((error) =>
        error instanceof BindFailed && error.setting.startsWith("gateways.")
          ? new Unable({
              detail: `port ${port} is taken: another process listens on ${error.address}. Choose another port${words[0] === "http" ? `: headgate http :${port + 1} …` : ` with --port ${port + 1}`}`
            })
          : error
      )
    )
  })
