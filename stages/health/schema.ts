/** The wire shape of health: when a backend counts as unhealthy. */
import { choosesNothing, declared, HealthPolicy as Health } from "../../spec/policy.ts"

export { Health }

export const health = declared(Health, { places: ["backend"], doubts: (_, { endpoints }) => choosesNothing(endpoints) })
