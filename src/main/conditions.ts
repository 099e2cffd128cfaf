/** Conditions of conditional policies: expressions over the request, of which an error counts as false. */
import { Result } from "effect"
import type { CompileCondition } from "./assemble.ts"

export const compileCondition: CompileCondition = () => Result.fail(["conditional policies are not available yet"])
