/** What a client speaks, by the end of the path that it asks for. */

export const routeTypes = [
  "completions",
  "messages",
  "responses",
  "generateContent",
  "embeddings",
  "rerank",
  "anthropicTokenCount",
  "geminiCountTokens",
  "realtime",
  "detect",
  "passthrough",
  "models"
] as const

export type RouteType = (typeof routeTypes)[number]

/** The paths that the model router knows by itself. `*` is the type of all others. */
export const routerPaths: Readonly<Record<string, RouteType>> = {
  "/v1/chat/completions": "completions",
  "/v1/messages": "messages",
  "/v1/messages/count_tokens": "anthropicTokenCount",
  ":rawPredict": "messages",
  ":streamRawPredict": "messages",
  ":generateContent": "generateContent",
  ":streamGenerateContent": "generateContent",
  ":countTokens": "geminiCountTokens",
  "/v1/responses": "responses",
  "/v1/responses/compact": "detect",
  "/v1/images/generations": "detect",
  "/v1/images/edits": "detect",
  "/v1/images/variations": "detect",
  "/v1/embeddings": "embeddings",
  "/v1/rerank": "rerank",
  "/v2/rerank": "rerank",
  "*": "passthrough"
}

/** What clients ask for that were given a base address with the version in it already. */
const shortForms = ["/chat/completions", "/messages", "/responses", "/embeddings"]

/** The table with the paths of a version under their short forms, too, unless it says something else of these. */
const withShortForms = (paths: Readonly<Record<string, RouteType>>): Readonly<Record<string, RouteType>> => ({
  ...Object.fromEntries(
    shortForms.flatMap((short): ReadonlyArray<readonly [string, RouteType]> => {
      const type = Object.hasOwn(paths, `/v1${short}`) ? paths[`/v1${short}`] : undefined
      return type === undefined ? [] : [[short, type]]
    })
  ),
  ...paths
})

/**
 * Compiles a table of path ends: the longest one that fits counts, ties in alphabetical order; then `*`; then completions, which is also
 * what an empty table means for every path. Paths of `/v1` have short forms. `otherwise` replaces the type of `*` (a model's `passthrough: detect`).
 */
export const compileRouteTypes = (
  paths: Readonly<Record<string, RouteType>>,
  otherwise?: "detect" | "passthrough"
): ((path: string) => RouteType) => {
  const ends = Object.entries(withShortForms(paths))
    .filter(([end]) => end !== "*")
    .sort(([a], [b]) => b.length - a.length || (a < b ? -1 : 1))
  const fallback = otherwise ?? (Object.hasOwn(paths, "*") ? paths["*"]! : "completions")
  return (path) => {
    for (const [end, type] of ends) if (path.endsWith(end)) return type
    return fallback
  }
}

/** Whether a path ends as one of a table: one that only `*`, or nothing, fits says nothing of what a provider has there. */
export const compileKnownPaths = (paths: Readonly<Record<string, RouteType>>): ((path: string) => boolean) => {
  const ends = Object.keys(paths).filter((end) => end !== "*")
  return (path) => ends.some((end) => path.endsWith(end))
}

/** The table for paths in small letters: some providers do not mind the case of a path. */
export const inSmallLetters = (paths: Readonly<Record<string, RouteType>>): Readonly<Record<string, RouteType>> =>
  Object.fromEntries(Object.entries(paths).map(([end, type]) => [end.toLowerCase(), type]))

const ofRouter = compileRouteTypes(inSmallLetters(routerPaths))
const conversations: ReadonlySet<RouteType> = new Set(["completions", "messages", "responses", "generateContent"])

/** Bedrock's conversations, which are no format of clients; embeddings of its models have the same ends. */
const ofBedrock = ["/converse", "/converse-stream", "/invoke", "/invoke-with-response-stream"]

/** Whether a provider may take what is sent to a path, here in small letters, for a conversation. `unread`: nobody knows what is sent. */
export const isConversation = (path: string, unread: boolean): boolean =>
  conversations.has(ofRouter(path)) || (unread && ofBedrock.some((end) => path.endsWith(end)))
