/** Expressions that decide about a request: conditions of policies, and which requests a trace wants. An error is false. */
import { Result } from "effect"
import type { Exchange } from "../pipeline/exchange.ts"
import type { CompileCondition } from "./assemble.ts"

export const compileCondition: CompileCondition = () => Result.fail(["conditional policies are not available yet"])

export const compileExpression = (_: string): ((exchange: Exchange) => boolean) | string => "not available yet"
