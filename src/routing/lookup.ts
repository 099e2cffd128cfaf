/**
 * Finds backends by the names that routes, policies, targets and proxies write: one way for all of them, and one way to say that
 * there is none.
 */
import { didYouMean } from "../../spec/config/nearest.ts"
import { localKey } from "./normalise/backends.ts"
import type { Backend, BackendTarget, Normalised } from "./normalised.ts"
import { servicePort } from "./services.ts"

/** What a reference leads to by its name. */
export type Named =
  | { readonly backend: string; readonly service?: undefined }
  | { readonly service: { readonly name: string; readonly port: number }; readonly backend?: undefined }

/** A name that leads nowhere. */
export interface Absent {
  /** The member of the reference that says it. */
  readonly absent: "backend" | "service"
  readonly message: string
  /** The end of that sentence: the name that was meant, if any comes near. */
  readonly meant: string
}

/** The name in the reference of a route; `undefined` where it leads to no backend. */
export const namedBy = (target: BackendTarget): Named | undefined =>
  target.kind === "backend" ? { backend: target.key } : target.kind === "service" ? { service: target } : undefined

export const isAbsent = (found: Backend | Absent): found is Absent => "absent" in found

export const lookUp = (config: Pick<Normalised, "backends" | "services">, named: Named): Backend | Absent =>
  named.backend === undefined ? portOf(config, named.service) : backendOf(config, named.backend)

const backendOf = ({ backends }: Pick<Normalised, "backends">, name: string): Backend | Absent => {
  const found = backends[localKey(name)]
  if (found !== undefined) return found
  const known = Object.values(backends).filter(({ path: [section] }) => section === "backends")
  const local = name.startsWith("/") ? "/" : ""
  const meant = didYouMean(
    name,
    known.map(({ key, namespace }) => (namespace === "" ? `${local}${key}` : key))
  )
  return { absent: "backend", message: `there is no backend ${name}`, meant }
}

const portOf = (
  config: Pick<Normalised, "services">,
  { name, port }: { readonly name: string; readonly port: number }
): Backend | Absent => {
  const found = servicePort(config, name, port)
  if (found !== undefined) return found
  const known = Object.keys(config.services)
  return known.includes(name)
    ? { absent: "service", message: `service ${name} has no port ${port}`, meant: "" }
    : { absent: "service", message: `there is no service ${name}`, meant: didYouMean(name, known) }
}
