/**
 * Port: the endpoints of services. Whoever finds them out puts another list in the place of the one before; it is read at each attempt, so that
 * however often it changes nothing is compiled.
 */
import { Context } from "effect"
import type { Address } from "../../spec/target.ts"

/** An endpoint of a service. */
export interface ServiceEndpoint {
  readonly address: Address
  /** How much it takes beside the others; with 0 it takes no more calls. */
  readonly capacity: number
}

/** The endpoints of one port of a service, as they are now. A list is never changed: another one takes its place. */
export interface EndpointSet {
  readonly current: ReadonlyArray<ServiceEndpoint>
}

export interface Discovery {
  /** @param service `<namespace>/<hostname>`. */
  readonly find: (service: string, port: number) => EndpointSet | undefined
}

/** Services that no file says. Default: none. */
export const Discovery = Context.Reference<Discovery>("headgate/services/Discovery", {
  defaultValue: () => ({ find: () => undefined })
})
