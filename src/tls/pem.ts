/** Certificates and keys as PEM: what is in a text, and in which line what is wrong with it stands. */
import { createPrivateKey, type KeyObject, X509Certificate } from "node:crypto"

/** What is wrong with a text. */
export interface PemFault {
  /** From 1; `undefined` where it is about the text as a whole. */
  readonly line: number | undefined
  readonly message: string
}

interface Block {
  readonly label: string
  readonly line: number
  readonly text: string
}

export const isPemFault = (value: object): value is PemFault => "message" in value && "line" in value

/** The blocks of a text, what stands between them left out. */
const blocksOf = (text: string): ReadonlyArray<Block> | PemFault => {
  const blocks: Array<Block> = []
  let label: string | undefined
  let begun = 0
  let lines: Array<string> = []
  for (const [index, each] of text.split("\n").entries()) {
    const line = each.trim()
    const [, word, name = ""] = /^-----(BEGIN|END) ([A-Z0-9 ]+)-----$/.exec(line) ?? []
    if (word === "BEGIN") {
      if (label !== undefined) return { line: begun, message: `a block begins (${label}) that does not end` }
      label = name
      begun = index + 1
      lines = []
    } else if (word === "END") {
      if (label !== name) return { line: index + 1, message: `a block ends (${name}) that did not begin` }
      blocks.push({
        label,
        line: begun,
        text: [`-----BEGIN ${label}-----`, ...lines, `-----END ${label}-----`, ""].join("\n")
      })
      label = undefined
    } else if (label !== undefined && line !== "") lines.push(line)
  }
  return label === undefined ? blocks : { line: begun, message: `a block begins (${label}) that does not end` }
}

const ofCertificates = /^(?:X509 |TRUSTED )?CERTIFICATE$/

/** The certificates of a text, one at least. */
export const certificatesOf = (text: string): ReadonlyArray<X509Certificate> | PemFault => {
  const blocks = blocksOf(text)
  if (isPemFault(blocks)) return blocks
  const found: Array<X509Certificate> = []
  for (const { label, line, text } of blocks) {
    if (!ofCertificates.test(label)) continue
    try {
      found.push(new X509Certificate(text))
    } catch {
      return { line, message: "the certificate cannot be read" }
    }
  }
  return found.length > 0 ? found : { line: undefined, message: "it holds no certificate in PEM form" }
}

/** The private key of a text. */
export const privateKeyOf = (text: string): KeyObject | PemFault => {
  const blocks = blocksOf(text)
  if (isPemFault(blocks)) return blocks
  const keys = blocks.filter(({ label }) => label.endsWith("PRIVATE KEY"))
  const [key, second] = keys
  if (key === undefined) return { line: undefined, message: "it holds no private key in PEM form" }
  if (second !== undefined) return { line: second.line, message: "this is a second private key" }
  if (key.label.startsWith("ENCRYPTED") || key.text.includes("\nProc-Type: 4,ENCRYPTED"))
    return { line: key.line, message: "the private key is encrypted; write one without a passphrase" }
  try {
    return createPrivateKey(key.text)
  } catch {
    return { line: key.line, message: "the private key cannot be read" }
  }
}
