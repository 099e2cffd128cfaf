/** `headgate init`: writes the file that another command would serve. */
import { Console, Effect } from "effect"
import { Command, Flag } from "effect/cli"
import { type ProviderName, providerNames, providers } from "../configuration/providers.ts"
import { orExit } from "../ctl/failure.ts"
import { httpCommand } from "./http.ts"
import { llmCommand, llmStarter } from "./llm.ts"
import { mcpCommand } from "./mcp.ts"
import { unsetText } from "./serving.ts"
import { type Starter, starterText } from "./starter.ts"
import { writeServed } from "./write-served.ts"

const own = Command.make("init").pipe(
  Command.withSharedFlags({
    file: Flag.String("file").pipe(
      Flag.withAlias("f"),
      Flag.withDefault("config.yaml"),
      Flag.withDescription("The file to write; - for standard output. Default: config.yaml.")
    ),
    force: Flag.Boolean("force").pipe(Flag.withDefault(false), Flag.withDescription("Write over a file that is there."))
  })
)

interface Destination {
  readonly file: string
  readonly force: boolean
}

const written = (starter: Starter, { file, force }: Destination) =>
  Effect.gen(function* () {
    yield* writeServed({
      text: starterText(starter),
      file,
      force,
      samples: Object.fromEntries(starter.unset.map((name) => [name, "value"]))
    })
    if (file !== "-" && starter.unset.length > 0) yield* Console.log(`before that, ${unsetText(starter.unset)}`)
  }).pipe(orExit())

/** The first provider whose key is there, else the one that needs none. */
const likely = (): ProviderName =>
  providerNames.find((name) => {
    const { settings } = providers[name]
    return settings.length > 0 && llmStarter({ provider: name, port: 4000 }, process.env).unset.length === 0
  }) ?? "mock"

const asAsked = (starter: Starter) => Effect.flatMap(own, (destination) => written(starter, destination))

export const initCommand = own.pipe(
  Command.withHandler((destination) =>
    Effect.suspend(() => written(llmStarter({ provider: likely(), port: 4000 }, process.env), destination))
  ),
  Command.withDescription(
    "Write the file that another command would serve: headgate init llm openai. Without one, the models of the first provider whose key the environment has, else of mock."
  ),
  Command.withSubcommands([llmCommand(asAsked), mcpCommand(asAsked), httpCommand(asAsked)])
)
