/** What tells two sets of connections apart: everything that decides whom they reach, as whom, and how they are kept. */
import type { Address } from "../../../spec/target.ts"
import { fingerprint } from "../../../src/pipeline/fingerprint.ts"
import type { ConnectionSettings } from "../connection-settings.ts"

export const identityOf = (target: Address, settings: ConnectionSettings): string => fingerprint([target, settings])
