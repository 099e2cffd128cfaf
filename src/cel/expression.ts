/**
 * The expression language of every policy (the Common Expression Language): compile an expression once, evaluate it on every request.
 * This is the entry of the folder; see `phases.ts` for the variables each phase knows and `bindings.ts` for what the host provides.
 */
import * as Result from "effect/Result"
import { type Attributes, analyse } from "./attributes.ts"
import type { Bindings } from "./bindings.ts"
import { Compiler, type Names } from "./compile.ts"
import { type CustomFunctions, noFunctions } from "./custom-functions.ts"
import { Frame, noBindings, type Outcome, outOfWork, type Run } from "./frame.ts"
import { maxSteps } from "./limits.ts"
import { parse } from "./parse.ts"
import { type Phase, variablesOf } from "./phases.ts"
import type { CelError, CelProblem } from "./problem.ts"
import type { Node } from "./syntax.ts"
import type { CelValue } from "./value.ts"

export type { Attributes } from "./attributes.ts"
export type { Bindings, RequestView, ResponseView } from "./bindings.ts"
export { fromJson, toJson, toText } from "./json.ts"
export { type Phase, phases, variables, variablesOf } from "./phases.ts"
export { CelError, type CelErrorCode, type CelProblem } from "./problem.ts"
export type { RawHeaders } from "./schema.ts"
export { Duration, Timestamp } from "./time.ts"
export { CelList, CelMap, type CelValue, MapView, Optional, Secret, Uint } from "./value.ts"

export interface CompileOptions {
  /** The phase in which the expression is evaluated: decides which variables exist. */
  readonly phase: Phase
  /** Further variables, of any type, which {@link Bindings} gives in `extra`. */
  readonly extra?: Iterable<string>
  /** Functions of the configuration. */
  readonly functions?: CustomFunctions
}

/** A compiled expression. It is immutable and can be evaluated any number of times, also while it is being evaluated. */
export class Expression {
  readonly source: string
  /** What the expression reads, known without evaluating it. */
  readonly attributes: Attributes
  /** The value where it depends on nothing. */
  readonly constant: CelValue | undefined
  readonly #run: Run
  readonly #slots: number
  /** The state of the last evaluation, for the next one to use; absent while one is under way. */
  #frame: Frame | undefined

  /** Use {@link compile}. */
  constructor(source: string, attributes: Attributes, run: Run, slots: number, constant: CelValue | undefined) {
    this.source = source
    this.attributes = attributes
    this.constant = constant
    this.#run = run
    this.#slots = slots
  }

  /** The value, or the error that took its place. Never throws. */
  evaluate(bindings: Bindings): CelValue | CelError {
    const frame = this.#frame ?? new Frame(this.#slots)
    this.#frame = undefined
    frame.bindings = bindings
    frame.steps = maxSteps
    const outcome: Outcome = this.#run(frame)
    frame.bindings = noBindings
    this.#frame = frame
    return frame.steps < 0 ? outOfWork : outcome
  }

  /** Whether the value is exactly true: an error and any other value are false. */
  test(bindings: Bindings): boolean {
    return this.evaluate(bindings) === true
  }
}

/** Compiles an expression, or tells everything that is wrong with it. */
export const compile = (
  source: string,
  options: CompileOptions
): Result.Result<Expression, ReadonlyArray<CelProblem>> => {
  const node = parse(source)
  if ("message" in node) return Result.fail([node])
  const names: Names = {
    variables: new Map([...variablesOf(options.phase)].map(([name, declared]) => [name, declared.struct])),
    extra: new Set(options.extra),
    functions: options.functions ?? noFunctions
  }
  return compileNode(source, node, names)
}

const compileNode = (
  source: string,
  node: Node,
  names: Names
): Result.Result<Expression, ReadonlyArray<CelProblem>> => {
  const compiler = new Compiler(source, names)
  const { run, constant } = compiler.compile(node, undefined)
  if (compiler.problems.length > 0) return Result.fail(compiler.problems)
  return Result.succeed(new Expression(source, analyse(node, names), run, compiler.slots, constant))
}
