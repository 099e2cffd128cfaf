/** How a function of the language is declared: its name, the kinds it takes, what it gives, and what it does. */
import type { Frame, Outcome } from "./frame.ts"
import type { Kind, KindTypes } from "./kind.ts"
import { CelError } from "./problem.ts"
import type { CelValue } from "./value.ts"

/** The kind of a parameter; `dyn` takes any value. */
export type ParameterKind = Kind | "dyn"

type ValueOf<K extends ParameterKind> = K extends Kind ? KindTypes[K] : CelValue
type Arguments<P extends ReadonlyArray<ParameterKind>> = { readonly [I in keyof P]: ValueOf<P[I]> }

/** What a function does with its arguments. Errors it returns need no position: the call adds it. */
export type Body = (frame: Frame, ...args: ReadonlyArray<CelValue>) => Outcome

/** One form of a function. A receiver is its first parameter. */
export interface Overload {
  /** With its namespace: `math.least`. */
  readonly name: string
  readonly method: boolean
  readonly parameters: ReadonlyArray<ParameterKind>
  /** Whether the last parameter takes any number of further arguments. */
  readonly variadic: boolean
  readonly result: ParameterKind
  /** Whether equal arguments always give equal results, so that a call with constants can be folded. */
  readonly pure: boolean
  readonly body: Body
  /** Steps that a call takes whatever its arguments; what grows with them, the body takes itself. */
  readonly cost: number
  /** A body made for arguments that are known when the expression is compiled, `undefined` where they are not; or their fault. */
  readonly prepare?: ((constants: ReadonlyArray<CelValue | undefined>) => Body | CelError | undefined) | undefined
}

interface Options {
  readonly variadic?: boolean
  readonly pure?: boolean
  readonly cost?: number
  readonly prepare?: Overload["prepare"]
}

const declare = (
  method: boolean,
  name: string,
  parameters: ReadonlyArray<ParameterKind>,
  result: ParameterKind,
  body: Body,
  options: Options = {}
): Overload => ({
  name,
  method,
  parameters,
  result,
  body,
  variadic: options.variadic ?? false,
  pure: options.pure ?? true,
  cost: options.cost ?? 1,
  prepare: options.prepare
})

/** A function that is called by its name: `size(x)`. */
export const global = <const P extends ReadonlyArray<ParameterKind>>(
  name: string,
  parameters: P,
  result: ParameterKind,
  body: (frame: Frame, ...args: Arguments<P>) => Outcome,
  options?: Options
): Overload => declare(false, name, parameters, result, body as Body, options)

/** A function that is called on a value, its first parameter: `x.size()`. */
export const method = <const P extends ReadonlyArray<ParameterKind>>(
  name: string,
  parameters: P,
  result: ParameterKind,
  body: (frame: Frame, ...args: Arguments<P>) => Outcome,
  options?: Options
): Overload => declare(true, name, parameters, result, body as Body, options)

export const invalid = (message: string): CelError => new CelError("invalid_argument", message)

/** A text or bytes do not say what they are read as. */
export const unreadable = (message: string): CelError => new CelError("unreadable", message)
