/** Guards over answers beside streams that they do not read: an answer that a client asks for as a stream passes them by. */
import type { Complaint } from "../../../spec/config/positions.ts"
import type { PromptGuard } from "../../../spec/guardrails.ts"
import { writtenAt } from "../normalised.ts"
import type { Configuration } from "../read.ts"
import { allPolicies, warn } from "./finding.ts"

/** Told once for each place where such guards are written. */
export const unreadStreams = ({ normalised }: Configuration): ReadonlyArray<Complaint> => {
  const told = new Map<string, Complaint>()
  for (const policies of allPolicies(normalised))
    for (const branch of policies["ai"]?.branches ?? []) {
      const { response = [], streaming } = (branch.config as { readonly promptGuard?: PromptGuard }).promptGuard ?? {}
      if (response.length === 0 || streaming === "Enabled") continue
      const path = writtenAt(branch, ["promptGuard", "response", 0]).slice(0, -1)
      told.set(
        JSON.stringify(path),
        warn(
          "unguarded-stream",
          path,
          "streamed answers are not read by these guards; set streaming: Enabled beside them",
          "key"
        )
      )
    }
  return [...told.values()]
}
