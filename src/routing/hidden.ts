/** What logs and traces do not show of the requests of a configuration. */
import { type Hidden, placesOf } from "../pipeline/hidden.ts"
import type { Normalised } from "./normalised.ts"

export const hiddenOf = (config: Normalised, keys: Hidden["keys"]): Hidden => {
  const { headers, parameters } = placesOf(config)
  for (const name of config.settings.sensitiveHeaders ?? []) headers.add(name.toLowerCase())
  return { headers, parameters, keys }
}
