/** What nginx, HAProxy, Apache, Caddy and Node made of every form of a request, and where we differ from all of them, with the reason. */
import { createHash } from "node:crypto"
import { existsSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { Schema } from "effect"
import type { RequestForm } from "../../test/attack/request-forms.ts"
import { serverNames } from "./servers.ts"

/** How one server took a form. */
const Verdict = Schema.Struct({
  /** What its backend was asked, the request behind the form included. */
  asked: Schema.Array(Schema.String),
  /** The status of its refusal; 0: it closed without a word, or waited for more. */
  refused: Schema.optionalKey(Schema.Int)
})
export type Verdict = typeof Verdict.Type

const Verdicts = Schema.Struct({
  versions: Schema.Record(Schema.Literals(serverNames), Schema.String),
  forms: Schema.Record(
    Schema.String,
    Schema.Struct({
      /** Of the bytes that were sent: a form that changed must be judged again. */
      digest: Schema.String,
      verdicts: Schema.Record(Schema.Literals(serverNames), Verdict)
    })
  )
})
export type Verdicts = typeof Verdicts.Type

export const verdictsFile = join(import.meta.dirname, "verdicts.json")

export const readVerdicts = (): Verdicts =>
  Schema.decodeUnknownSync(Schema.fromJsonString(Verdicts))(
    existsSync(verdictsFile) ? readFileSync(verdictsFile, "utf8") : '{"versions":{},"forms":{}}'
  )

export const digest = ({ send }: RequestForm): string =>
  createHash("sha256").update(Buffer.from(send, "latin1")).digest("hex").slice(0, 16)

/** Whether all of them refuse what we take, or all of them take what we refuse; `undefined`: neither. */
export const difference = (
  { reaches = [], refused, closes = false, cut = false }: RequestForm,
  verdicts: Readonly<Record<string, Verdict>>
): "laxer" | "stricter" | undefined => {
  const all = Object.values(verdicts)
  if (cut) return undefined
  const took = (asked: ReadonlyArray<string>) => reaches.every((request, i) => asked[i] === request)
  if (reaches.length > 0 && !all.some(({ asked }) => took(asked))) return "laxer"
  const refuses = refused !== undefined && !closes
  if (refuses && all.every((verdict) => verdict.refused === undefined && verdict.asked.length > reaches.length))
    return "stricter"
  return undefined
}

/** Where we differ from all five, and why: nowhere. */
export const differences: Readonly<Record<string, string>> = {}
