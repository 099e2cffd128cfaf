/** Writes a configuration that a command made: only one that this build serves and has no doubts about, and over no other file. */
import { existsSync, writeFileSync } from "node:fs"
import { Console, Effect } from "effect"
import { formatText } from "../../../spec/config/problem.ts"
import { homeOf } from "../configuration/source.ts"
import { Unable } from "../ctl/failure.ts"

interface Written {
  readonly text: string
  /** `-` for standard output. */
  readonly file: string
  readonly force: boolean
  /** Variables that it reads and that have no value yet, with one that they might have. */
  readonly samples: Readonly<Record<string, string>>
}

export const writeServed = ({ text, file, force, samples }: Written): Effect.Effect<void, Unable> =>
  Effect.gen(function* () {
    const { findings } = yield* Effect.promise(() => import("../configuration/findings.ts"))
    const problems = yield* findings({
      name: file,
      text,
      env: { ...process.env, ...samples },
      home: homeOf(process.env)
    })
    if (problems.length > 0) return yield* new Unable({ detail: formatText(problems) })
    if (file === "-") return yield* Effect.sync(() => void process.stdout.write(text))
    yield* Effect.try({
      try: () => writeFileSync(file, text, { flag: force ? "w" : "wx" }),
      catch: (cause) =>
        new Unable({
          detail:
            existsSync(file) && !force
              ? `${file} is there already: --force writes over it`
              : `cannot write ${file}: ${String(cause)}`
        })
    })
    yield* Console.log(`wrote ${file}; it is served with: headgate -f ${file}`)
  })
