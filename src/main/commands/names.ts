/** What the commands of `headgate` are called, and what they are for: all that a start without one needs to know of them. */

export const commandSummaries = {
  llm: "the models of one provider: headgate llm openai, headgate llm mock",
  mcp: "one MCP server: headgate mcp -- npx -y PACKAGE, headgate mcp URL",
  http: "one HTTP server: headgate http :8080 to localhost:3000",
  init: "write the file that one of these serves: headgate init llm openai",
  import: "make a file out of one of LiteLLM: headgate import --from litellm -f FILE",
  migrate: "write a file without its deprecated forms: headgate migrate -f FILE",
  oneshot: "serve a file for as long as a command runs: headgate oneshot -f FILE -- COMMAND"
} as const

export type CommandName = keyof typeof commandSummaries

export const isCommand = (word: string | undefined): word is CommandName =>
  word !== undefined && Object.hasOwn(commandSummaries, word)
