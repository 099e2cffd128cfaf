/**
 * What a policy says of itself beside its shape. The language, merging, the checks and the dumps ask these, so that none of
 * them knows a policy by name.
 */
import type { Path } from "./config/path.ts"
import type { Code } from "./warnings.ts"

/**
 * What is decided about: who asks; whether the request may pass, whoever asks; whether the connection may stay; which page
 * made a browser ask; how much passes; what is said.
 */
export type Decision = "identity" | "access" | "connection" | "origin" | "rate" | "content"

/** How what several levels attach becomes one policy. */
export type Joining =
  /** The lists under this key become one. */
  | { readonly lists: string }
  /** Each field comes from the most specific level that has something there. */
  | "fields"
  /** The most specific one counts, with this field from the next wider one that has it. */
  | { readonly inherits: string }

/** An expression that decides about requests. */
export interface DecidingExpression {
  readonly source: string
  /** Below the configuration. */
  readonly path: Path
  /** What follows where it is true. */
  readonly effect: "allow" | "deny" | "require"
}

/** Something that is right and probably not meant. */
export interface Doubt {
  readonly code: Code
  /** Below the configuration. */
  readonly path: Path
  readonly message: string
  /** Whether it is about the key or about the value, which is the default. */
  readonly about?: "key" | "value"
}

/** What is around a configuration, as far as doubts about it depend on that. */
export interface Surroundings {
  /** Whether a model may be behind it. */
  readonly models: () => boolean
  /** Whether a backend that it is written at has several endpoints. */
  readonly endpoints: () => boolean
}

/** The doubt about what chooses between endpoints where there are none to choose from. */
export const choosesNothing = (endpoints: Surroundings["endpoints"]): ReadonlyArray<Doubt> =>
  endpoints()
    ? []
    : [
        {
          code: "single-endpoint",
          path: [],
          message:
            "has no effect: the backend has no endpoints to choose from; a service, or several providers of models, would have them",
          about: "key"
        }
      ]

/** The doubt about what counts the tokens of models where none is. */
export const countsNothing = "counts model tokens, but no backend of the route is a model"

/** Guards over conversations, and the paths that they stand at. */
export interface Guarding {
  /** Where the guards stand, below the configuration. */
  readonly path: Path
  /** What paths speak, by their end. */
  readonly routes: Readonly<Record<string, string>>
  /** Where that stands. */
  readonly routesAt: Path
}

/** All of it is optional: a policy says what is true of it. `Config` is what its schema decodes to. */
export interface Traits<Config> {
  /** What it decides about requests. One that decides anything and is targeted at something has to find it there. */
  readonly decides?: Decision | undefined
  /** Of one that decides who asks: whether it lets pass who shows nothing. */
  admitsAnyone?(config: Config): boolean
  /** How several levels of it become one. Left out: the most specific one counts as a whole. */
  readonly joins?: Joining | undefined
  /** The expressions by which it decides. */
  expressions?(config: Config): ReadonlyArray<DecidingExpression>
  /** Whether it answers in place of a backend. */
  readonly answers?: boolean | undefined
  /** Whether it may keep paths from getting through, or put others in their place. Its expressions are looked at besides. */
  judgesPaths?(config: Config): boolean
  /** Whether it may put other bodies in the place of those that come. */
  changesBodies?(config: Config): boolean
  /** Whether the proxy shows a credential of its own by it. */
  showsCredential?(config: Config): boolean
  /** The kinds of backends that it is for. Left out: all. */
  readonly backends?: ReadonlyArray<string> | undefined
  /** The protocol that a backend speaks because of it. */
  readonly speaks?: "llm" | "a2a" | undefined
  /** Its guards over conversations. */
  guards?(config: Config): Guarding | undefined
  /** Whether it asks for nothing but what happens without it. */
  isIdle?(config: Config): boolean
  /** What is doubtful about it. */
  doubts?(config: Config, around: Surroundings): ReadonlyArray<Doubt>
}
