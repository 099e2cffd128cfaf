/** Certificates that sign themselves, made for a test: valid when it likes, for the names it likes. */
import { generateKeyPairSync, sign } from "node:crypto"

export interface Certificate {
  readonly cert: string
  readonly key: string
}

const tagged = (tag: number, ...parts: ReadonlyArray<Uint8Array>): Buffer => {
  const body = Buffer.concat(parts)
  const length =
    body.length < 128
      ? [body.length]
      : body.length < 256
        ? [0x81, body.length]
        : [0x82, body.length >> 8, body.length & 255]
  return Buffer.concat([Buffer.from([tag, ...length]), body])
}
const sequence = (...parts: ReadonlyArray<Uint8Array>) => tagged(0x30, ...parts)
const identifier = (hex: string) => tagged(0x06, Buffer.from(hex, "hex"))
const text = (value: string) => tagged(0x0c, Buffer.from(value))
const time = (millis: number) =>
  tagged(0x18, Buffer.from(`${new Date(millis).toISOString().replaceAll(/[-:T]|\.\d+/g, "")}`))
const extension = (id: string, value: Uint8Array) => sequence(identifier(id), tagged(0x04, value))

/** @param days from and until when it is valid, from the noon of this day on. */
export const certificate = (names: ReadonlyArray<string>, days: readonly [from: number, to: number]): Certificate => {
  const { publicKey, privateKey } = generateKeyPairSync("ec", { namedCurve: "P-256" })
  // ecdsa-with-SHA256
  const algorithm = sequence(identifier("2a8648ce3d040302"))
  // commonName
  const name = sequence(tagged(0x31, sequence(identifier("550403"), text(names[0]!))))
  const alternatives = names.map((each) =>
    /^\d+(\.\d+){3}$/.test(each)
      ? tagged(0x87, Buffer.from(each.split(".").map(Number)))
      : tagged(0x82, Buffer.from(each))
  )
  const noon = (Math.floor(Date.now() / 86_400_000) + 0.5) * 86_400_000
  const body = sequence(
    tagged(0xa0, tagged(0x02, Buffer.from([2]))),
    tagged(0x02, Buffer.from([1])),
    algorithm,
    name,
    sequence(...days.map((day) => time(noon + day * 86_400_000))),
    name,
    publicKey.export({ type: "spki", format: "der" }),
    tagged(
      0xa3,
      sequence(
        // basicConstraints: an authority; subjectAltName
        extension("551d13", sequence(tagged(0x01, Buffer.from([255])))),
        extension("551d11", sequence(...alternatives))
      )
    )
  )
  const signature = sign("sha256", body, privateKey)
  const der = sequence(body, algorithm, tagged(0x03, Buffer.from([0]), signature))
  return {
    cert: `-----BEGIN CERTIFICATE-----\n${der.toString("base64").replaceAll(/.{64}(?!$)/g, "$&\n")}\n-----END CERTIFICATE-----\n`,
    key: privateKey.export({ type: "pkcs8", format: "pem" }).toString()
  }
}
