/**
 * The expression language of every policy (the Common Expression Language): compile an expression once, evaluate it on every request.
 * This is the entry of the folder; see `phases.ts` for the variables each phase knows and `bindings.ts` for what the host provides.
 */
import * as Result from "effect/Result"
import { type Attributes, analyse } from "./attributes.ts"
import type { Bindings } from "./bindings.ts"
import { check, type Type } from "./check.ts"
import { Compiler, type Names } from "./compile.ts"
import { type Cost, costOf } from "./cost.ts"
import { type CustomFunctions, noFunctions } from "./custom-functions.ts"
import { Frame, noBindings, type Outcome, outOfWork, type Run } from "./frame.ts"
import type { ParameterKind } from "./function.ts"
import type { Kind } from "./kind.ts"
import { maxSteps } from "./limits.ts"
import { parse } from "./parse.ts"
import { type Phase, variables } from "./phases.ts"
import type { CelError, CelProblem } from "./problem.ts"
import type { Node } from "./syntax.ts"
import type { CelValue } from "./value.ts"

export type { Attributes } from "./attributes.ts"
export type { Bindings } from "./bindings.ts"
export type { Cost } from "./cost.ts"
export type { CustomFunctions } from "./custom-functions.ts"
export { explain } from "./explain.ts"
export { parseFunctions } from "./function-source.ts"
export { elementsIn, entriesIn, settled } from "./inside.ts"
export { fromJson, toJson, toText } from "./json.ts"
export { type Phase, phases, variables } from "./phases.ts"
export { CelError, type CelErrorCode, type CelProblem, isUnreadable } from "./problem.ts"
export type { RawHeaders } from "./schema.ts"
export { Duration, Timestamp } from "./time.ts"
export { CelList, CelMap, type CelValue, Flattened, MapView, Optional, SecretValue, Uint } from "./value.ts"

export interface CompileOptions {
  /** The phase in which the expression is evaluated: decides which variables it may read; `undefined` lets it read all. */
  readonly phase: Phase | undefined
  /** The kind of value that is needed. An expression that surely gives another kind does not compile; rules expect `bool`. */
  readonly expect?: Kind
  /** Leaves out the check of names and types: what does not exist fails when it is evaluated, as the cluster form wants. */
  readonly unchecked?: boolean
  /** Further variables, of any type, which {@link Bindings} gives in `extra`. They hide variables of the same name. */
  readonly extra?: Iterable<string>
  /** Functions of the configuration, from {@link parseFunctions}. */
  readonly functions?: CustomFunctions
}

/** A compiled expression. It is immutable and can be evaluated any number of times, also while it is being evaluated. */
export class Expression {
  readonly source: string
  /** What the expression reads, known without evaluating it. */
  readonly attributes: Attributes
  /** How much work an evaluation is, as far as the text tells. */
  readonly cost: Cost
  /** The kind of its value, `dyn` where only run time tells. */
  readonly kind: ParameterKind
  /** Whether types alone tell that it is never true: its value is no bool, or what it compares has nothing in common. */
  readonly neverTrue: boolean
  /** The value where it depends on nothing. */
  readonly constant: CelValue | undefined
  /** The syntax tree and the names it refers to, for explanations. */
  readonly syntax: Node
  readonly names: Names
  readonly #run: Run
  readonly #slots: number
  /** The state of the last evaluation, for the next one to use; absent while one is under way. */
  #frame: Frame | undefined

  private constructor(
    compiler: Compiler,
    syntax: Node,
    { kind, always }: Type,
    run: Run,
    constant: CelValue | undefined
  ) {
    this.source = compiler.source
    this.kind = kind
    this.syntax = syntax
    this.names = compiler.names
    this.attributes = analyse(syntax, compiler.names)
    this.cost = costOf(syntax, compiler.names)
    this.constant = constant
    this.neverTrue =
      (kind !== "bool" && kind !== "dyn") || always === false || (constant !== undefined && constant !== true)
    this.#run = run
    this.#slots = compiler.slots
  }

  /** The value, or the error that took its place. Never throws; what a getter of the host throws passes. */
  evaluate(bindings: Bindings): CelValue | CelError {
    return this.#evaluate(bindings, false)
  }

  /**
   * The value for somebody who decides about a request by it. What was to be read and could not be is the outcome, whatever the operators
   * made of the rest, and so is JSON that readers understand differently.
   */
  decide(bindings: Bindings): CelValue | CelError {
    return this.#evaluate(bindings, true)
  }

  #evaluate(bindings: Bindings, deciding: boolean): Outcome {
    const frame = this.#frame ?? new Frame(this.#slots)
    this.#frame = undefined
    frame.bindings = bindings
    frame.steps = maxSteps
    frame.deciding = deciding
    frame.unread = undefined
    const value: Outcome = this.#run(frame)
    const outcome = deciding ? frame.decided(value) : value
    // Nothing of the request outlives its evaluation.
    frame.bindings = noBindings
    if (this.#slots > 0) frame.locals.fill(null)
    this.#frame = frame
    return frame.steps < 0 ? outOfWork : outcome
  }

  /** Whether the value is exactly true: an error and any other value are false. What decides about a request asks {@link decide}. */
  test(bindings: Bindings): boolean {
    return this.evaluate(bindings) === true
  }

  /** Compiles an expression, or tells everything that is wrong with it, in the order of the text. */
  static compile(source: string, options: CompileOptions): Result.Result<Expression, ReadonlyArray<CelProblem>> {
    const syntax = parse(source)
    if ("message" in syntax) return Result.fail([syntax])
    const extra = new Set(options.extra)
    const known = Object.entries(variables).filter(([name]) => !extra.has(name))
    const compiler = new Compiler(source, {
      variables: new Map(known.map(([name, { struct }]) => [name, struct])),
      extra,
      functions: options.functions ?? noFunctions
    })
    const type: Type = options.unchecked ? { kind: "dyn" } : check(compiler, syntax, options.phase)
    const { kind } = type
    if (options.expect !== undefined && kind !== "dyn" && kind !== options.expect)
      compiler.report(syntax, `the expression gives a ${kind} where a ${options.expect} is needed`)
    const { run, constant } = compiler.compile(syntax, undefined)
    const expression = new Expression(compiler, syntax, type, run, constant)
    if (expression.cost.least > maxSteps)
      compiler.report(syntax, "the expression needs more work than one evaluation may do")
    if (compiler.problems.length > 0) return Result.fail(compiler.problems.sort((a, b) => a.start - b.start))
    return Result.succeed(expression)
  }
}

/** Compiles an expression, or tells everything that is wrong with it, in the order of the text. */
export const compile = Expression.compile
