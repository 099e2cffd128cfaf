/** The wire shape of what the admin interface tells of endpoints: how each of those does that a backend chooses between. */
import { Schema } from "effect"

const described = <S extends Schema.Top>(schema: S, description: string): S["Rebuild"] =>
  schema.annotate({ description })

const LiveEndpoint = Schema.Struct({
  endpoint: described(Schema.String, "The address of an endpoint, or the name of a provider or of a model."),
  group: Schema.optionalKey(
    described(
      Schema.Number,
      "Of several groups of providers the one that it is in, from 0; a later one is for when nobody of those before may be called."
    )
  ),
  capacity: described(Schema.Number, "What it takes beside the others."),
  health: described(Schema.Number, "From 0, where every answer was a bad one, to 1."),
  score: described(
    Schema.Number,
    "By which one of two is chosen: the higher, the better. Healthy, fast and idle ones have the highest."
  ),
  share: described(
    Schema.Number,
    "How much of its share it gets: less than 1 while it is new, or back, for ten seconds."
  ),
  latencyMs: described(
    Schema.NullOr(Schema.Number),
    "What an answer takes, by the answers before and by the oldest call that waits for one; null where there was none."
  ),
  requests: described(Schema.Number, "How many calls had an answer, or failed."),
  inFlight: described(Schema.Number, "How many calls are under way."),
  evictedMs: described(
    Schema.NullOr(Schema.Number),
    "For how many milliseconds more it is left alone; null where it may be called."
  ),
  evictedUntil: described(
    Schema.NullOr(Schema.String),
    "The time until which it is left alone; null where it may be called."
  )
})

export const LiveBackend = Schema.Struct({
  type: described(Schema.String, "The kind of the backend: `service`, `ai`, or `llmRouter` for the section `llm`."),
  name: described(Schema.String, "Its name; of a service `<namespace>/<hostname>`."),
  namespace: described(Schema.String, "Its namespace."),
  port: Schema.optionalKey(described(Schema.Number, "Of a service.")),
  endpoints: described(Schema.Array(LiveEndpoint), "Those that may be chosen, in the order of the configuration.")
})
export const LiveBackends = Schema.Array(LiveBackend)

/** As whoever chooses knows it: when that is on the clock of a wall, others know. */
export type EndpointState = Omit<typeof LiveEndpoint.Type, "evictedUntil">

/** Names and descriptions of all that is told of an endpoint. */
export const endpointFields: ReadonlyArray<readonly [name: string, description: string]> = Object.entries(
  LiveEndpoint.fields
).map(([name, field]) => [name, String(Schema.resolveAnnotations(field)?.description ?? "")])
