/** TLS of listeners towards their clients: what the configuration says of it, in the words of whoever speaks it. */
import { Effect, Result } from "effect"
import {
  type CipherSuite,
  type KeyExchangeGroup,
  opensslGroup,
  type TlsVersion as VersionName
} from "../../spec/connection/crypto.ts"
import type { ServerTls } from "../../spec/standalone/listener.ts"
import { type ConfigPath, type ConfigProblem, unavailable } from "../pipeline/stage.ts"
import type { Frontends, Listener } from "../routing/normalised.ts"
import { Files } from "../services/files.ts"
import type { ListenerTls, TlsVersion } from "../services/listener-tls.ts"
import { Log } from "../services/log.ts"
import { followed } from "../tls/followed.ts"
import { fileFields, type Material, readMaterial } from "../tls/material.ts"
import { certificatesOf, isPemFault } from "../tls/pem.ts"
import type { Compiling } from "./problems.ts"

/** TLS of one listener, as it is now. Told of when its files were replaced. */
export class FollowedListenerTls {
  #current: ListenerTls
  #replaced: (() => void) | undefined = undefined

  constructor(first: ListenerTls) {
    this.#current = first
  }

  get current(): ListenerTls {
    return this.#current
  }

  /** Who wants to know. */
  whenReplaced(replaced: () => void): void {
    this.#replaced = replaced
  }

  replace(next: ListenerTls): void {
    this.#current = next
    this.#replaced?.()
  }
}

/** What `frontendPolicies.tls` says for all listeners. */
export interface TlsDefaults {
  readonly handshakeTimeout: number
  readonly alpn: ReadonlyArray<string>
  readonly minVersion: Version | undefined
  readonly maxVersion: Version | undefined
  readonly cipherSuites: ReadonlyArray<Suite> | undefined
  readonly keyExchangeGroups: ReadonlyArray<Group> | undefined
}

type Version = (typeof VersionName)["Type"]
type Suite = (typeof CipherSuite)["Type"]
type Group = (typeof KeyExchangeGroup)["Type"]

/** Milliseconds that a client has for a handshake where nothing is said. */
const defaultHandshakeTimeout = 15_000

/** What is offered to clients where nothing is said. */
const offered = ["h2", "http/1.1"]

export const tlsDefaults = ({
  tls,
  path
}: Frontends): { readonly defaults: TlsDefaults; readonly problems: ReadonlyArray<ConfigProblem> } => {
  const alpn = tls?.alpn?.map((bytes) => Buffer.from(bytes).toString("latin1"))
  const problems = (alpn ?? []).flatMap((protocol, index): ReadonlyArray<ConfigProblem> => {
    if (offered.includes(protocol)) return []
    const at = [...path, "tls", "alpn", index]
    return [
      { path: at, message: `expected the bytes of h2 or http/1.1: no listener speaks ${JSON.stringify(protocol)}` }
    ]
  })
  const {
    handshakeTimeout = defaultHandshakeTimeout,
    minVersion,
    maxVersion,
    cipherSuites,
    keyExchangeGroups
  } = tls ?? {}
  return {
    defaults: { handshakeTimeout, alpn: alpn ?? offered, minVersion, maxVersion, cipherSuites, keyExchangeGroups },
    problems
  }
}

/** Its files are followed as long as the scope. Problems carry whole paths. */
export const compileListenerTls = (
  { key: listener, path: at, protocol }: Listener,
  config: ServerTls,
  defaults: TlsDefaults
): Compiling<FollowedListenerTls> =>
  Effect.gen(function* () {
    const path: ConfigPath = [...at, "tls"]
    if (config.spiffe !== undefined) return yield* Effect.fail([unavailable([...path, "spiffe"], "spiffe")])
    const problems: Array<ConfigProblem> = []
    const places = Object.fromEntries(fileFields.map((field) => [field, config[field]]))
    const files = yield* Files
    const read = yield* readMaterial(files, places)
    if (Result.isFailure(read))
      problems.push(...read.failure.map(({ field, message }) => ({ path: [...path, field], message })))
    const versions = versionsOf(config, defaults)
    if (typeof versions === "string") problems.push({ path, message: versions })
    const suites = config.cipherSuites ?? defaults.cipherSuites
    if (problems.length > 0 || Result.isFailure(read) || typeof versions === "string")
      return yield* Effect.fail(problems)
    const groups = config.keyExchangeGroups ?? defaults.keyExchangeGroups
    const made = (material: Material): ListenerTls => ({
      listener,
      certificate: material.shown!.certificate,
      key: material.shown!.key,
      mode: config.mode,
      clients: clientsOf(config, material),
      versions,
      ciphers: (suites ?? everySuite).map((suite) => suiteNames[suite]),
      groups: groups?.map(opensslGroup),
      // What is spoken behind TLS on its way to a backend is nobody's business here.
      alpn: protocol === "TLS" ? [] : defaults.alpn
    })
    const unfit = unfitFor(read.success, config, versions, suites)
    if (unfit !== undefined) return yield* Effect.fail([{ path: [...path, ...unfit.path], message: unfit.message }])
    const { log } = yield* Log
    const { follow } = followed(places, read.success, files, log, { listener })
    const kept = new FollowedListenerTls(made(read.success))
    yield* follow((material) => kept.replace(made(material)))
    return kept
  })

const clientsOf = ({ clientCertificates = "required" }: ServerTls, { root }: Material): ListenerTls["clients"] =>
  root === undefined || clientCertificates === "none" ? undefined : { mode: clientCertificates, roots: root }

/** What is spoken: nothing below 1.2. Or why nothing is. */
const versionsOf = (
  config: ServerTls,
  defaults: TlsDefaults
): readonly [lowest: TlsVersion, highest: TlsVersion] | string => {
  const lowest = config.minTLSVersion ?? defaults.minVersion ?? "TLS_V1_2"
  const highest = config.maxTLSVersion ?? defaults.maxVersion ?? "TLS_V1_3"
  if (highest === "TLS_V1_0" || highest === "TLS_V1_1") return `${highest} is not spoken: the lowest is TLS_V1_2`
  if (lowest === "TLS_V1_3" && highest === "TLS_V1_2") return "the lowest version is above the highest"
  return [lowest === "TLS_V1_3" ? "TLSv1.3" : "TLSv1.2", highest === "TLS_V1_3" ? "TLSv1.3" : "TLSv1.2"]
}

/** What makes every handshake fail, whatever clients offer. */
const unfitFor = (
  { shown }: Material,
  config: ServerTls,
  [lowest, highest]: ListenerTls["versions"],
  suites: ReadonlyArray<Suite> = everySuite
): ConfigProblem | undefined => {
  const chain = certificatesOf(shown!.certificate)
  if (isPemFault(chain)) return undefined
  if (config.mode === "dynamicCa") {
    if (!chain[0]!.ca) return { path: ["cert"], message: `${config.cert}: it is not the certificate of an authority` }
    const kind = chain[0]!.publicKey.asymmetricKeyType ?? "unknown"
    if (!["rsa", "ec", "ed25519"].includes(kind))
      return {
        path: ["key"],
        message: `${config.key}: certificates are issued with keys of rsa, ec or ed25519, not ${kind}`
      }
  }
  if (highest === "TLSv1.3" && suites.some((suite) => suite.startsWith("TLS13_"))) return undefined
  const older = suites.filter((suite) => !suite.startsWith("TLS13_"))
  const at = { path: config.cipherSuites === undefined ? [] : ["cipherSuites"] }
  if (lowest === "TLSv1.3" || older.length === 0)
    return { ...at, message: "none of the cipher suites is one of the versions that are spoken" }
  // What is issued has a key of its own.
  const kind = config.mode === "dynamicCa" ? "ec" : chain[0]!.publicKey.asymmetricKeyType
  const fitting = kind === "rsa" ? "_RSA_" : "_ECDSA_"
  return older.some((suite) => suite.includes(fitting))
    ? undefined
    : { ...at, message: `none of the cipher suites can be used with the key of the certificate (${kind})` }
}

const suiteNames: Readonly<Record<Suite, string>> = {
  TLS13_AES_256_GCM_SHA384: "TLS_AES_256_GCM_SHA384",
  TLS13_AES_128_GCM_SHA256: "TLS_AES_128_GCM_SHA256",
  TLS13_CHACHA20_POLY1305_SHA256: "TLS_CHACHA20_POLY1305_SHA256",
  TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384: "ECDHE-ECDSA-AES256-GCM-SHA384",
  TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256: "ECDHE-ECDSA-AES128-GCM-SHA256",
  TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256: "ECDHE-ECDSA-CHACHA20-POLY1305",
  TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384: "ECDHE-RSA-AES256-GCM-SHA384",
  TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256: "ECDHE-RSA-AES128-GCM-SHA256",
  TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256: "ECDHE-RSA-CHACHA20-POLY1305"
}

/** Best first: those of 128 bits cost less and are no weaker in practice. */
const everySuite: ReadonlyArray<Suite> = [
  "TLS13_AES_128_GCM_SHA256",
  "TLS13_AES_256_GCM_SHA384",
  "TLS13_CHACHA20_POLY1305_SHA256",
  "TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256",
  "TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384",
  "TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256",
  "TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256",
  "TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384",
  "TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256"
]
