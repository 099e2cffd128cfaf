/**
 * Files of TLS that may be replaced while they are in use: what they hold now, and whoever must know is told when it is
 * something else. What cannot be used is told once in the log, and what was there before stays.
 */
import { Effect, Redacted, Result, type Scope } from "effect"
import type { Files } from "../services/files.ts"
import type { Log } from "../services/log.ts"
import { fileFields, type Material, type Places, readMaterial } from "./material.ts"

export interface FollowedMaterial {
  /** What holds now; `changed` is told whatever holds later, as long as the scope. */
  readonly follow: (changed: (material: Material) => void) => Effect.Effect<Material, never, Scope.Scope>
}

/** @param fields of the lines in the log: whose files they are. */
export const followed = (
  places: Places,
  first: Material,
  files: Files["Service"],
  log: Log["Service"]["log"],
  fields: Readonly<Record<string, string>>
): FollowedMaterial => {
  const paths = fileFields.flatMap((field) => places[field] ?? [])
  let material = first
  let told: string | undefined
  const renewed = Effect.map(readMaterial(files, places), (read) => {
    if (Result.isFailure(read)) {
      const message = read.failure.map((fault) => fault.message).join("; ")
      if (message !== told) log("warn", "proxy", `certificates cannot be used: ${message}; those before stay`, fields)
      told = message
      return
    }
    told = undefined
    if (isSame(read.success, material)) return
    material = read.success
    log("info", "proxy", "certificates were replaced; new connections use them", fields)
  })
  return {
    follow: (changed) =>
      Effect.suspend(() => {
        let used = material
        const look = Effect.map(renewed, () => {
          if (used === material) return
          used = material
          changed(material)
        })
        return Effect.as(files.follow(paths, look), used)
      })
  }
}

const isSame = (one: Material, other: Material): boolean =>
  one.root === other.root &&
  one.shown?.certificate === other.shown?.certificate &&
  (one.shown && Redacted.value(one.shown.key)) === (other.shown && Redacted.value(other.shown.key))
