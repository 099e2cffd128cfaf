/**
 * Where a policy may be written, and the objects of policies that follow from it. The policies themselves are handed in: the language knows
 * no policy by name, so that one from outside is written like one from here.
 */
import { Schema, SchemaAST, SchemaGetter } from "effect"
import { memoize } from "effect/Function"
import { formOf, saidOf } from "../encoded.ts"
import { extended, hinted, object, optional, type Rule, required, ruled } from "../field.ts"
import { CelExpression } from "../primitives.ts"
import type { Traits } from "../traits.ts"

/**
 * The places of policies: on listeners (`gateway`), on routes, on TCP routes, on backends, on backends of TCP routes, on the model gateway, on
 * the user interface, and on the connections of all listeners (`frontend`).
 */
export const policyPlaces = ["gateway", "route", "tcpRoute", "backend", "tcpBackend", "llm", "ui", "frontend"] as const
/** One of `policyPlaces`. */
export type PolicyPlace = (typeof policyPlaces)[number]

/** How the language sees one policy. */
export interface PolicySpec<Config = unknown> extends Traits<Config> {
  /** The wire shape. Its description is the text of the field. */
  readonly schema: Schema.Codec<Config, unknown>
  readonly places: ReadonlyArray<PolicyPlace>
  /** Whether listeners, routes and sections may also write `{ conditional: [...] }`. */
  readonly conditional?: boolean
  /** The phase of the policy when it is written on a route; `route` when left out. */
  readonly onRoute?: "route" | "backend"
  /** Another name that a file may use on connections of all listeners. */
  readonly alias?: string
}

/** Declares a policy beside its wire shape. */
export const declared = <S extends Schema.Codec<unknown, unknown>>(
  schema: S,
  declaration: Omit<PolicySpec<S["Type"]>, "schema">
): PolicySpec<S["Type"]> & { readonly schema: S } => ({ schema, ...declaration })

/** Every policy by its configuration name. */
export type PolicySpecs = Readonly<Record<string, PolicySpec>>

/** Decoded policies by their configuration name: of the type of their schema, or `Conditional`. */
export type Policies = Readonly<Record<string, unknown>>

const branch = Schema.Struct({ condition: Schema.optionalKey(Schema.String), policy: Schema.Unknown })
const Branches = Schema.TaggedStruct("Conditional", { branches: Schema.Array(branch) })

/** A policy that depends on the request: the first branch whose condition is true applies. Only the last one may lack a condition. */
export type Conditional = typeof Branches.Type

/** Tells a conditional policy from a plain one. */
export const isConditional = (policy: unknown): policy is Conditional =>
  typeof policy === "object" && policy !== null && "_tag" in policy && policy._tag === "Conditional"

type AnySchema = Schema.Codec<unknown, unknown>

const saidOfForm = ({ ast }: AnySchema, key: "identifier" | "description"): string | undefined => {
  const said = saidOf(formOf(ast))?.[key]
  return typeof said === "string" ? said : undefined
}

const isList = (schema: Schema.Top): schema is Schema.$Array<AnySchema> =>
  SchemaAST.isArrays(schema.ast) && "value" in schema

/** An entry of a conditional policy: the fields of the policy and, beside them, the condition. An entry of a list policy is one item. */
const entryOf = (schema: AnySchema, name: string) => {
  const list = isList(schema)
  const item = list ? schema.value : schema
  const wire = SchemaAST.toEncoded(item.ast)
  if (!SchemaAST.isObjects(wire))
    throw new Error(`${name}: a conditional policy must be an object or a list of objects`)
  const condition = optional(
    CelExpression,
    "When the entry applies. An expression that fails is false; the last entry may do without."
  )
  const form = extended(wire, [new SchemaAST.PropertySignature("condition", condition.ast)])
  return form.annotate({ identifier: `Conditional${name}Entry`, description: "One version of the policy." }).pipe(
    Schema.decodeTo(Schema.Struct({ condition: Schema.optionalKey(Schema.String), policy: item }), {
      decode: SchemaGetter.transform((form: unknown) => {
        const { condition, ...policy } = form as { readonly condition?: string }
        return { ...(condition === undefined ? {} : { condition }), policy }
      }),
      encode: SchemaGetter.transform(
        ({ condition, policy }: { readonly condition?: string; readonly policy: unknown }) => ({
          ...(condition === undefined ? {} : { condition }),
          ...(policy as object)
        })
      )
    }),
    Schema.decodeTo(branch, {
      decode: SchemaGetter.transform((entry): typeof branch.Type =>
        list ? { ...entry, policy: [entry.policy] } : entry
      ),
      encode: SchemaGetter.transform((entry: typeof branch.Type) =>
        list ? { ...entry, policy: (entry.policy as ReadonlyArray<unknown>)[0] } : entry
      )
    })
  )
}

const lastAlone: Rule<ReadonlyArray<unknown>> = {
  check: (entries) => {
    const early = entries.findIndex((entry, index) => index < entries.length - 1 && !("condition" in (entry as object)))
    return early === -1 ? undefined : { path: [early], issue: "only the last entry may have no condition" }
  }
}

/** The policy itself, or `{ conditional: [{ condition, …the fields of the policy }] }`; one schema for all places. */
const conditional = memoize((schema: AnySchema): AnySchema => {
  const name = saidOfForm(schema, "identifier") ?? "Policy"
  const entries = Schema.Array(entryOf(schema, name)).check(
    Schema.isMinLength(1, { expected: "at least one entry" }),
    Schema.isMaxLength(64, { expected: "at most 64 entries" })
  )
  const form = object(`Conditional${name}`, "The policy in several versions, of which the request chooses one.", {
    conditional: required(ruled(entries, lastAlone), "Entries in order; the first one whose condition is true applies.")
  }).pipe(
    Schema.decodeTo(Branches, {
      decode: SchemaGetter.transform((form): Conditional => ({ _tag: "Conditional", branches: form.conditional })),
      encode: SchemaGetter.transform((decoded: Conditional) => ({ conditional: decoded.branches }))
    })
  )
  return Schema.Union([form, schema])
})

const places = new Set<PolicyPlace>(["gateway", "route", "llm", "ui"])

/** The optional fields of the policies that may be written in a place. */
export const policyFields = (
  specs: PolicySpecs,
  place: PolicyPlace
): Readonly<Record<string, Schema.optionalKey<AnySchema>>> =>
  Object.fromEntries(
    Object.entries(specs)
      .filter(([, spec]) => spec.places.includes(place))
      .map(([name, spec]) => {
        const description = saidOfForm(spec.schema, "description") ?? name
        const form = spec.conditional === true && places.has(place) ? conditional(spec.schema) : spec.schema
        return [name, optional(form, description)]
      })
  )

/** The words for where policies may be written. */
export const placeNames: Readonly<Record<PolicyPlace, string>> = {
  gateway: "gateways and listeners",
  route: "routes",
  tcpRoute: "TCP routes",
  backend: "backends",
  tcpBackend: "backends of TCP routes",
  llm: "llm.policies",
  ui: "ui.policies",
  frontend: "frontendPolicies"
}

const onRouteOfModels = "write it under policies, with the target route { name: llm:request, namespace: internal }"

/** What to say to a policy that is written where it cannot be. */
export const misplaced = (specs: PolicySpecs, place: PolicyPlace): Readonly<Record<string, string>> =>
  Object.fromEntries(
    Object.entries(specs)
      .filter(([, spec]) => !spec.places.includes(place))
      .map(([name, spec]) => [
        name,
        `cannot be written here; it is a policy of ${spec.places.map((each) => placeNames[each]).join(", ")}${
          place === "llm" && spec.places.includes("route") ? `: ${onRouteOfModels}` : ""
        }`
      ])
  )

/** What to say to a policy beside the object of policies. */
export const besidePolicies = (specs: PolicySpecs): Readonly<Record<string, string>> =>
  Object.fromEntries(Object.keys(specs).map((name) => [name, "is a policy; write it under policies"]))

/** The object of the policies that may be written in a place. */
export const policiesAt = (
  specs: PolicySpecs,
  place: PolicyPlace,
  identifier: string,
  description: string
): Schema.Codec<Policies, Readonly<Record<string, unknown>>> =>
  hinted(object(identifier, description, policyFields(specs, place)), misplaced(specs, place))
