/** What the commands read of a `/config_dump`: the parts that they list, each of them as it stands there. */
import { Schema } from "effect"
import { LiveBackends } from "../../../spec/live-endpoints.ts"

const Policies = Schema.Record(Schema.String, Schema.Unknown)

const Reference = Schema.Struct({
  weight: Schema.Number,
  backend: Schema.optionalKey(Schema.String),
  routeGroup: Schema.optionalKey(Schema.String),
  service: Schema.optionalKey(Schema.Struct({ name: Schema.String, port: Schema.Number }))
})

const Route = Schema.Struct({
  key: Schema.String,
  hostnames: Schema.Array(Schema.String),
  matches: Schema.optionalKey(Schema.Array(Schema.Unknown)),
  backends: Schema.Array(Reference),
  inlinePolicies: Policies
})

const Listener = Schema.Struct({
  key: Schema.String,
  hostname: Schema.String,
  protocol: Schema.Unknown,
  routes: Schema.Record(Schema.String, Route),
  tcpRoutes: Schema.Record(Schema.String, Route)
})

const Bind = Schema.Struct({
  key: Schema.String,
  address: Schema.String,
  protocol: Schema.String,
  listeners: Schema.Record(Schema.String, Listener)
})

const Backend = Schema.Struct({
  backend: Schema.Record(
    Schema.String,
    Schema.Struct({ name: Schema.String, namespace: Schema.String, target: Schema.Unknown })
  ),
  inlinePolicies: Policies
})

const Policy = Schema.Struct({ key: Schema.String, target: Schema.Unknown, policy: Schema.Unknown })

/** The dump, as far as it is listed. */
export const Dump = Schema.Struct({
  binds: Schema.Array(Bind),
  routes: Schema.Struct({ routeGroups: Schema.Record(Schema.String, Schema.Array(Route)) }),
  policies: Schema.Array(Policy),
  backends: Schema.Array(Backend),
  /** Older proxies do not tell it. */
  endpoints: Schema.optionalKey(LiveBackends)
})
export type Dump = typeof Dump.Type

export const decodeDump = Schema.decodeUnknownOption(Dump)

const Named = Schema.Struct({ name: Schema.String })

/** Of what a backend is, what tells where it is: an address, a socket, or what stands behind it. */
const Target = Schema.Struct({
  host: Schema.optionalKey(Schema.String),
  port: Schema.optionalKey(Schema.Number),
  path: Schema.optionalKey(Schema.String),
  targets: Schema.optionalKey(Schema.Array(Named)),
  models: Schema.optionalKey(Schema.Array(Named)),
  groups: Schema.optionalKey(Schema.Array(Schema.Struct({ providers: Schema.Array(Named) })))
})
export type Target = typeof Target.Type

export const decodeTarget = Schema.decodeUnknownOption(Target)
