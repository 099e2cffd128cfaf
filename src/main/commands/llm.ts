/** `headgate llm PROVIDER`: every model of one provider, with its key from the environment. `mock` needs none. */
import { Effect, Option } from "effect"
import { Argument, Command, Flag } from "effect/cli"
import type { Environment } from "../../../spec/config/expand.ts"
import { FromEnvironment } from "../../../spec/config/write.ts"
import { type ProviderName, providerNames, providers } from "../configuration/providers.ts"
import { port } from "../ctl/admin-address.ts"
import type { Starter } from "./starter.ts"
import type { Use } from "./use.ts"

const usualPort = 4000

interface Asked {
  readonly provider: ProviderName
  readonly port: number
  readonly baseUrl?: string | undefined
}

export const llmStarter = ({ provider, port, baseUrl }: Asked, env: Environment): Starter => {
  const { settings, params, model } = providers[provider]
  const found = settings.map(({ param, variables }) => {
    const set = variables.find((name) => (env[name] ?? "") !== "")
    return { param, name: set ?? variables[0], set: set !== undefined }
  })
  // Whoever serves a provider's interface under another address may want no key.
  const read = baseUrl === undefined ? found : found.filter(({ set, param }) => set || param !== "apiKey")
  const all = {
    ...Object.fromEntries(read.map(({ param, name }) => [param, new FromEnvironment(name)])),
    ...params,
    baseUrl
  }
  const isBare = Object.values(all).every((value) => value === undefined)
  return {
    words: [
      "llm",
      provider,
      ...(port === usualPort ? [] : ["--port", String(port)]),
      ...(baseUrl === undefined ? [] : ["--base-url", baseUrl])
    ],
    port,
    sections: { llm: { models: [{ name: "*", provider, params: isBare ? undefined : all }] } },
    tries: [
      [
        `curl http://localhost:${port}/v1/chat/completions`,
        "-H 'content-type: application/json'",
        `-d '{"model": "${model}", "messages": [{"role": "user", "content": "Hello"}]}'`
      ]
    ],
    unset: read.filter(({ set }) => !set).map(({ name }) => name)
  }
}

export const llmCommand = <R>(use: Use<R>) =>
  Command.make(
    "llm",
    {
      provider: Argument.Literals("provider", providerNames).pipe(
        Argument.withDescription(
          `Whose models: ${providerNames.join(", ")}. Keys come from the environment, under their usual names; mock answers with made-up text and needs none.`
        )
      ),
      port: Flag.Int("port").pipe(
        Flag.withSchema(port),
        Flag.withDefault(usualPort),
        Flag.withDescription(`The port on this machine; default: ${usualPort}.`)
      ),
      baseUrl: Flag.String("base-url").pipe(
        Flag.optional,
        Flag.withDescription("Address and base path in place of the provider's own, for servers that speak like it.")
      )
    },
    ({ provider, port, baseUrl }) =>
      Effect.suspend(() => use(llmStarter({ provider, port, baseUrl: Option.getOrUndefined(baseUrl) }, process.env)))
  ).pipe(Command.withDescription("The models of one provider, for clients of OpenAI and Anthropic."))
