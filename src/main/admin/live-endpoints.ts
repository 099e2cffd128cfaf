/** What `/endpoints` shows, and the dump with it: how the endpoints do that backends choose between. */
import type { LiveBackends } from "../../../spec/live-endpoints.ts"
import type { Snapshot } from "../configuration/snapshot.ts"

/** @param wall now, in milliseconds since 1970. */
export const liveBackends = (
  choosing: Snapshot["assembled"]["choosing"],
  wall: number
): (typeof LiveBackends)["Type"] =>
  choosing.map(({ source: { destination, name, namespace }, endpoints }) => ({
    type: destination.kind === "llm" ? "llmRouter" : destination.kind,
    name,
    namespace,
    ...(destination.kind === "service" ? { port: destination.config.port } : {}),
    endpoints: endpoints().map((state) => ({
      ...state,
      evictedUntil: state.evictedMs === null ? null : new Date(wall + state.evictedMs).toISOString()
    }))
  }))
