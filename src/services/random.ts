/** Port: numbers from 0 to less than 1, for choices. Tests put their own in its place. */
import { Context } from "effect"

/** Numbers for choices, as a service. */
export const Random = Context.Reference<() => number>("headgate/services/Random", { defaultValue: () => Math.random })
