/** Certificates and keys that a file names, of listeners and towards backends: whether they can be used, and for how long. */
import { createPrivateKey, type KeyObject, X509Certificate } from "node:crypto"
import { readFileSync } from "node:fs"
import { placed } from "../../../layers/files.ts"
import { formatPath } from "../../../spec/config/path.ts"
import type { Normalised, PolicyBranch } from "../../routing/normalised.ts"
import { type Ailment, error, warning } from "./ailment.ts"

interface Named {
  readonly cert?: string | undefined
  readonly key?: string | undefined
  readonly root?: string | undefined
}

const namesFiles = (value: unknown): value is Named =>
  typeof value === "object" &&
  value !== null &&
  ["cert", "root"].some((key) => typeof (value as Named)[key as "cert"] === "string")

/** Every place that names some, once: of listeners, and of policies. */
const places = (config: Normalised): ReadonlyMap<string, Named> => {
  const found = new Map<string, Named>()
  const look = (value: unknown): void => {
    if (typeof value !== "object" || value === null) return
    const { branches } = value as { readonly branches?: ReadonlyArray<PolicyBranch> }
    if (Array.isArray(branches)) {
      for (const { config, path } of branches) if (namesFiles(config)) found.set(formatPath(path), config)
    } else for (const each of Object.values(value)) look(each)
  }
  for (const { listeners } of config.binds)
    for (const { tls, path } of listeners) if (namesFiles(tls)) found.set(formatPath([...path, "tls"]), tls)
  look(config)
  return found
}

const day = 24 * 3_600_000
const soon = 14 * day
const dateOf = (millis: number) => new Date(millis).toISOString().slice(0, 10)

/** The certificates of a file in PEM, of which the first is the one that is shown. */
const chainOf = (text: string): ReadonlyArray<X509Certificate> =>
  (text.match(/-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g) ?? []).map(
    (pem) => new X509Certificate(pem)
  )

const readable = (file: string): string | Error => {
  try {
    return readFileSync(file, "utf8")
  } catch (cause) {
    return cause instanceof Error ? cause : new Error(String(cause))
  }
}

/**
 * @param folder of the configuration file.
 * @param told places of which something is told already.
 */
export const certificateAilments = (
  config: Normalised,
  folder: string | undefined,
  now: number,
  told: ReadonlySet<string>
): ReadonlyArray<Ailment> =>
  [...places(config)].flatMap(([path, { cert, key, root }]) => {
    const found: Array<Ailment> = []
    const tell = (what: string, remedy: string) => found.push(error("certificates", `${path}${what}`, remedy))
    const textOf = (name: string, file: string): string | undefined => {
      if (told.has(`${path}.${name}`)) return undefined
      const text = readable(placed(file, folder))
      if (typeof text === "string") return text
      tell(
        `.${name}: ${file} cannot be read (${"code" in text ? text.code : text.message})`,
        "correct the path, or let this user read it"
      )
      return undefined
    }
    const certificates = (name: "cert" | "root", file: string): ReadonlyArray<X509Certificate> => {
      const text = textOf(name, file)
      if (text === undefined) return []
      try {
        const chain = chainOf(text)
        if (chain.length > 0) return chain
      } catch {
        // Told below.
      }
      tell(`.${name}: ${file} holds no certificate`, "it takes PEM, which begins with -----BEGIN CERTIFICATE-----")
      return []
    }
    const times = (name: "cert" | "root", file: string, { validFromDate, validToDate }: X509Certificate) => {
      const [from, to] = [validFromDate.getTime(), validToDate.getTime()]
      const at = `.${name}: the certificate in ${file}`
      if (to <= now) tell(`${at} expired on ${dateOf(to)}`, "replace it with a renewed one; the file is watched")
      else if (from > now) tell(`${at} is not valid before ${dateOf(from)}`, "wait, or set the clock of this machine")
      else if (to - now < soon)
        found.push(
          warning(
            "certificates",
            `${path}${at} expires on ${dateOf(to)}`,
            "renew it before; the file is watched, so that nothing need be restarted"
          )
        )
    }
    const own = cert === undefined ? [] : certificates("cert", cert)
    if (own[0] !== undefined) times("cert", cert!, own[0])
    if (root !== undefined) {
      const trusted = certificates("root", root)
      if (trusted.length > 0 && trusted.every(({ validToDate }) => validToDate.getTime() <= now))
        times("root", root, trusted[0]!)
    }
    const keyText = key === undefined ? undefined : textOf("key", key)
    if (keyText !== undefined) {
      let secret: KeyObject | undefined
      try {
        secret = createPrivateKey(keyText)
      } catch {
        tell(
          `.key: ${key} holds no private key that can be read`,
          "it takes PEM without a passphrase, which begins with -----BEGIN PRIVATE KEY-----"
        )
      }
      if (secret !== undefined && own[0] !== undefined && !own[0].checkPrivateKey(secret))
        tell(
          `.key: the key in ${key} is not the one of the certificate in ${cert}`,
          "name the key with which the certificate was asked for, and put the certificate of the server first in its file"
        )
    }
    return found
  })
