/** What the files of a configuration hold: the authorities that are trusted, and the certificate that is shown with its key. */
import type { X509Certificate } from "node:crypto"
import { createSecureContext } from "node:tls"
import { Effect, Redacted, Result } from "effect"
import type { Files } from "../services/files.ts"
import { certificatesOf, isPemFault, type PemFault, privateKeyOf } from "./pem.ts"

/** The fields that name files. */
export const fileFields = ["root", "cert", "key"] as const
export type Places = { readonly [F in (typeof fileFields)[number]]?: string | undefined }

export interface Material {
  readonly root: string | undefined
  readonly shown: { readonly certificate: string; readonly key: Redacted.Redacted<string> } | undefined
}

export interface MaterialFault {
  readonly field: (typeof fileFields)[number]
  readonly message: string
}

/** Reads the files, and tells all that is wrong with them. */
export const readMaterial = (
  { text }: Pick<Files["Service"], "text">,
  places: Places
): Effect.Effect<Result.Result<Material, ReadonlyArray<MaterialFault>>> =>
  Effect.map(
    Effect.forEach(fileFields, (field) => {
      const path = places[field]
      return path === undefined ? Effect.succeed(undefined) : Effect.result(text(path))
    }),
    ([root, cert, key]) => {
      const faults: Array<MaterialFault> = []
      const sound = <A extends object>(
        field: MaterialFault["field"],
        read: typeof root,
        parse: (text: string) => A | PemFault
      ): { readonly text: string; readonly parsed: A } | undefined => {
        if (read === undefined) return undefined
        if (Result.isFailure(read)) {
          faults.push({ field, message: read.failure.message })
          return undefined
        }
        const parsed = parse(read.success)
        if (!isPemFault(parsed)) return { text: read.success, parsed }
        const { line, message } = parsed
        faults.push({ field, message: `${places[field]}${line === undefined ? "" : `:${line}`}: ${message}` })
        return undefined
      }
      const trusted = sound("root", root, certificatesOf)
      const chain = sound("cert", cert, certificatesOf)
      const owned = sound("key", key, privateKeyOf)
      const unusable = (field: MaterialFault["field"], made: { ca?: string; cert?: string; key?: string }) => {
        try {
          createSecureContext(made)
        } catch (cause) {
          const reason = cause instanceof Error && "reason" in cause ? cause.reason : "it is refused"
          faults.push({ field, message: `${places[field]}: it cannot be used: ${reason}` })
        }
      }
      const roots = trusted && pemOf(trusted.parsed)
      const certificate = chain && pemOf(chain.parsed)
      if (roots !== undefined) unusable("root", { ca: roots })
      if (chain !== undefined && certificate !== undefined && owned !== undefined) {
        if (chain.parsed[0]!.checkPrivateKey(owned.parsed)) unusable("cert", { cert: certificate, key: owned.text })
        else
          faults.push({
            field: "key",
            message: `${places.key}: it is not the key of the certificate in ${places.cert}`
          })
      }
      if (faults.length > 0) return Result.fail(faults)
      const shown =
        certificate === undefined || owned === undefined ? undefined : { certificate, key: Redacted.make(owned.text) }
      return Result.succeed({ root: roots, shown })
    }
  )

/** The certificates alone: a file may hold more, a key even, and be laid out as nobody else reads it. */
const pemOf = (certificates: ReadonlyArray<X509Certificate>): string => certificates.join("")
