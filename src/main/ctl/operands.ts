/** What stands behind `--` on the command line; `undefined` when there is no `--`. */
import { Context } from "effect"

export const Operands = Context.Reference<ReadonlyArray<string> | undefined>("headgate/ctl/Operands", {
  defaultValue: () => undefined
})
