/** The wire shape of health: when a backend counts as unhealthy. */
import { declared, HealthPolicy as Health } from "../../spec/policy.ts"

export { Health }

export const health = declared(Health, { places: ["backend"] })
