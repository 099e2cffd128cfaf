/** The bounds that keep one expression from hurting the process that evaluates it. */

/** Characters of an expression (UTF-16 units). */
export const maxExpressionLength = 16_384

/** Nesting of brackets, operators and calls. */
export const maxNesting = 250

/** Elements of a list or entries of a map that an evaluation builds. */
export const maxElements = 10_000

/** Characters of a string, or bytes, that an evaluation builds: a body of 2 MiB in base64 still fits. */
export const maxTextLength = 3 * 1024 * 1024

/**
 * Work of one evaluation, in steps. A step stands for at most some 40 ns: one turn of a macro, a few dozen bytes of a native string
 * operation, one character of a regular expression. The whole budget is thereby below 5 ms.
 */
export const maxSteps = 100_000

/** Work spent on the constant parts of an expression when it is compiled; what needs more is left for run time. */
export const maxFoldingSteps = 10_000
