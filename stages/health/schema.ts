/** The wire shape of health: when a backend counts as unhealthy. */
export { HealthPolicy as Health } from "../../spec/health.ts"
