/** The places of credentials that a configuration names: logs and traces hide what stands there. */
import { type CredentialLocation, locationKeys } from "../../spec/location.ts"
import type { Hidden } from "../pipeline/hidden.ts"
import type { Normalised } from "../routing/normalised.ts"

export const hiddenOf = (config: Normalised, keys: Hidden["keys"]): Hidden => {
  const headers = new Set(config.settings.sensitiveHeaders?.map((name) => name.toLowerCase()))
  const parameters = new Set<string>()
  const visit = (value: unknown): void => {
    if (typeof value !== "object" || value === null) return
    for (const [key, inner] of Object.entries(value)) {
      if (locationKeys.has(key)) {
        // What has such a key may be anything: metadata is free.
        const place = inner as Partial<CredentialLocation> | null | undefined
        if (typeof place?.header?.name === "string") headers.add(place.header.name.toLowerCase())
        if (typeof place?.queryParameter?.name === "string") parameters.add(place.queryParameter.name)
      }
      visit(inner)
    }
  }
  visit(config)
  return { headers, parameters, keys }
}
