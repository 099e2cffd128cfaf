/** The wire shape of health: when a backend counts as unhealthy. */
import { HealthPolicy as Health } from "../../spec/health.ts"
import { declared } from "../../spec/standalone/policies.ts"

export { Health }

export const health = declared(Health, { places: ["backend"] })
