/** What the terminal for services is made from: a port of a service, and the endpoints that a file says. */
import { Schema } from "effect"
import type { Address } from "../../spec/target.ts"

export interface ServicePort {
  /** `<namespace>/<hostname>`. */
  readonly service: string
  readonly port: number
  readonly endpoints: ReadonlyArray<{ readonly address: Address; readonly capacity: number }>
}

/** It was decoded with the file; here it only has a type. */
export const ServicePortSchema = Schema.declare(
  (value: unknown): value is ServicePort => typeof value === "object" && value !== null && "endpoints" in value
)
