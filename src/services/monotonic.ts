/** Port: milliseconds with fractions from a clock that never goes back. Tests put their own in its place. */
import { Context } from "effect"

/** The clock for durations: its value means nothing by itself. */
export const Monotonic = Context.Reference<() => number>("headgate/services/Monotonic", {
  defaultValue: () => () => performance.now()
})
