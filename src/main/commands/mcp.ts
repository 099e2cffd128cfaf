/** `headgate mcp -- COMMAND` and `headgate mcp URL`: one MCP server, started as a child process or reached over HTTP. */
import { basename } from "node:path"
import { Effect, Option } from "effect"
import { Argument, Command, Flag } from "effect/cli"
import type { Environment } from "../../../spec/config/expand.ts"
import { looksSecret } from "../../../spec/config/looks-secret.ts"
import { FromEnvironment } from "../../../spec/config/write.ts"
import { port } from "../ctl/admin-address.ts"
import { orExit, Unable } from "../ctl/failure.ts"
import { Operands } from "../ctl/operands.ts"
import type { Starter } from "./starter.ts"
import type { Use } from "./use.ts"

const usualPort = 3000
const example =
  "write headgate mcp -- npx -y @modelcontextprotocol/server-everything, or headgate mcp http://host:port/mcp"

interface Asked {
  readonly url?: string | undefined
  readonly command?: ReadonlyArray<string> | undefined
  readonly port: number
  /** Names of variables that the child process inherits. */
  readonly inherited: ReadonlyArray<string>
  /** Whether the server speaks HTTP with events, as of 2024. */
  readonly sse: boolean
}

const runners = new Set(["npx", "bunx", "uvx", "pnpx", "node", "bun", "deno", "python", "python3", "uv", "docker"])

/** What a server is called: the package that a runner is given, else the program; as target names are spelt. */
const targetName = (command: ReadonlyArray<string>): string => {
  const [program = "", ...args] = command
  const word = runners.has(basename(program)) ? args.find((arg) => !arg.startsWith("-")) : undefined
  return spelt(
    basename((word ?? program).replace(/(?<=.)@[^/]*$/, "").replace(/\.\w+$/, "")).replace(/^(?:mcp-)?server-/, "")
  )
}

const spelt = (name: string): string =>
  name
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, "-")
    .replaceAll(/^-|-$/g, "")
    .slice(0, 63)
    .replace(/-$/, "") || "server"

/** Variables that hold credentials, by their names. */
const credential = /(?:^|_)(?:KEY|TOKEN|SECRET|PASSWORD|PAT)$/

/** A word as the file holds it: with the name of a variable where the shell put the value of one that is secret. */
const kept = (word: string, env: Environment): string | FromEnvironment => {
  const name = Object.keys(env).find(
    (name) => credential.test(name) && (env[name] ?? "").length >= 8 && word === env[name]
  )
  return name === undefined ? word : new FromEnvironment(name)
}

/** A word of a command line that holds what belongs in no file and on no screen. */
const holdsSecret = (word: string): boolean => !word.includes("/") && looksSecret(word.replace(/^[^=]*=/, ""))

const urlFault = (text: string): string | undefined => {
  const url = URL.parse(text)
  if (url === null || (url.protocol !== "http:" && url.protocol !== "https:"))
    return `no http or https URL was named: ${example}`
  if (url.username !== "" || url.password !== "") return "an address with a name and a password in it cannot be used"
  const secret = [...url.searchParams.values()].some(looksSecret)
  return secret ? "the query of the address holds what looks like a credential: a file holds none" : undefined
}

export const mcpStarter = ({ url, command, port, inherited, sse }: Asked, env: Environment): Starter | Unable => {
  const unable = (detail: string) => new Unable({ detail })
  if ((url === undefined) === (command === undefined || command.length === 0))
    return unable(`one MCP server is served, a command behind -- or a URL: ${example}`)
  const flags = port === usualPort ? [] : ["--port", String(port)]
  const tries = [
    [
      `curl http://localhost:${port}/mcp`,
      "-H 'accept: application/json, text/event-stream' -H 'content-type: application/json'",
      `-d '{"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "curl", "version": "1"}}}'`
    ]
  ]
  const served = (words: Starter["words"], target: object, unset: ReadonlyArray<string>): Starter => ({
    words: ["mcp", ...flags, ...words],
    port,
    sections: { mcp: { targets: [target] } },
    tries,
    unset
  })
  if (url !== undefined) {
    if (inherited.length > 0) return unable("--env is for a server that is started as a child process")
    const fault = urlFault(url)
    if (fault !== undefined) return unable(fault)
    const target = { name: spelt(new URL(url).hostname), [sse ? "sse" : "mcp"]: { host: url } }
    return served([...(sse ? ["--sse"] : []), url], target, [])
  }
  if (sse) return unable("--sse is for a server that is reached by its URL")
  const [cmd = "", ...args] = command ?? []
  const written = args.map((arg) => kept(arg, env))
  const secret = written.findIndex((arg) => typeof arg === "string" && holdsSecret(arg))
  if (secret !== -1)
    return unable(
      `argument ${secret + 1} of the command looks like a credential, and a file holds none: put it in a variable that ends in _KEY or _TOKEN, and write that in its place, as "$MY_TOKEN"; or let the server inherit the variable with --env MY_TOKEN`
    )
  const wrong = inherited.find((name) => !/^[A-Za-z_]\w*$/.test(name))
  if (wrong !== undefined)
    return unable("--env takes the name of a variable that the server inherits; its value stays where it is")
  const stdio = {
    cmd,
    args: written.length === 0 ? undefined : written,
    inheritEnv: inherited.length === 0 ? undefined : inherited
  }
  return served(
    [...inherited.flatMap((name) => ["--env", name]), "--", cmd, ...written],
    { name: targetName([cmd, ...written.map(String)]), stdio },
    inherited.filter((name) => (env[name] ?? "") === "")
  )
}

export const mcpCommand = <R>(use: Use<R>) =>
  Command.make(
    "mcp",
    {
      url: Argument.String("url").pipe(
        Argument.optional,
        Argument.withDescription("The URL of a server; a command that starts one stands behind -- instead.")
      ),
      port: Flag.Int("port").pipe(
        Flag.withSchema(port),
        Flag.withDefault(usualPort),
        Flag.withDescription(`The port on this machine; default: ${usualPort}.`)
      ),
      env: Flag.String("env").pipe(
        Flag.atLeast(1),
        Flag.optional,
        Flag.withDescription("Name of a variable that the server inherits, such as its key; may be repeated.")
      ),
      sse: Flag.Boolean("sse").pipe(
        Flag.withDefault(false),
        Flag.withDescription("The server at the URL speaks the older HTTP with events; default: streamable HTTP.")
      )
    },
    ({ url, port, env, sse }) =>
      Effect.gen(function* () {
        const command = yield* Operands
        const starter = mcpStarter(
          { url: Option.getOrUndefined(url), command, port, inherited: Option.getOrElse(env, () => []), sse },
          process.env
        )
        return yield* starter instanceof Unable ? Effect.fail(starter) : use(starter)
      }).pipe(orExit())
  ).pipe(Command.withDescription("One MCP server: a command behind --, or a URL."))
