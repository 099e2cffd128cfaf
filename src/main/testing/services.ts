/** The services that policies compile with in a world: those of the proxy, and those that a policy of someone else's needs. */
import { Layer } from "effect"
import type { Services } from "../../pipeline/registry.ts"
import type { AnyPolicy } from "../../pipeline/stage.ts"
import type { World, WorldServices } from "./world.ts"

/**
 * `layer` is asked for when a policy needs services beyond those of the proxy. In a world that is `failing` they should
 * fail, and in one that `waits` answer later.
 */
export type ServiceOptions<R> = [Exclude<R, WorldServices>] extends [never]
  ? { readonly layer?: undefined }
  : { readonly layer: (world: World) => Layer.Layer<Exclude<R, WorldServices>> }

/** Those of any policies. */
export interface AnyServiceOptions {
  readonly layer?: ((world: World) => Layer.Layer<never>) | undefined
}

/** Options that may be left out where nothing is asked for. */
export type Optional<O> = { readonly layer?: undefined } extends O ? [options?: O] : [options: O]

/** All services of some policies. */
export const layerOf =
  <L extends ReadonlyArray<AnyPolicy>>(layer: AnyServiceOptions["layer"]) =>
  (world: World) =>
    // Without a layer nothing is missing: that is what the type of the options says.
    Layer.mergeAll(world.layer, world.references, layer?.(world) ?? Layer.empty) as unknown as Layer.Layer<Services<L>>
