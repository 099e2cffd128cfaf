/** What the package consists of: its programs with their threads, and its exports. */

/** Programs and threads, by the name of their file in `programs/`. */
export const programs = {
  headgate: "src/main/headgate.ts",
  headgatectl: "src/main/headgatectl.ts",
  "check-thread": "src/check/thread.ts",
  "tokenizer-thread": "layers/tokenizer/thread.ts",
  "passwords-thread": "layers/passwords/thread.ts",
  "log-thread": "layers/log/thread.ts"
} as const

/** The single executable, and what it has of the above as files inside. */
export const executable = "src/main/executable.ts"
export const threads = ["check-thread", "tokenizer-thread", "passwords-thread", "log-thread"] as const

/** Exports, by the name of their file in `library/`. */
export const library = {
  index: "src/main/library.ts",
  trace: "src/main/trace.ts",
  testing: "src/main/testing.ts",
  policy: "src/main/policy.ts"
} as const

/** The path of an export below the name of the package. */
export const subpath = (name: string): string => (name === "index" ? "." : `./${name}`)
