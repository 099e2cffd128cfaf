/**
 * First messages of TLS clients, written well and badly, in records of any size, cut and mutated. What is whole is read as it was
 * written; of everything else no more is asked than that somebody decides, the same however many packets it comes in.
 */
import { longestHello, readHello } from "../../layers/tls/client-hello.ts"
import { batches, type Dice } from "./messages.ts"

export interface DrawnHello {
  readonly bytes: Buffer
  /** What has to be read of it; absent where it was mutated or cut. */
  readonly name?: string | undefined
  readonly isWhole: boolean
}

const u8 = (n: number) => Buffer.from([n & 0xff])
const u16 = (n: number) => Buffer.from([(n >> 8) & 0xff, n & 0xff])
const u24 = (n: number) => Buffer.from([(n >> 16) & 0xff, (n >> 8) & 0xff, n & 0xff])
const vector = (length: (n: number) => Buffer, bytes: Buffer) => Buffer.concat([length(bytes.length), bytes])

const names = ["a.example", "localhost", "x", "_srv.a-b.example", "EXAMPLE.com", `${"a".repeat(60)}.example`, "1.2.3.4"]
const badNames = ["", "a b", "a\0b", "ä.example", "a/b", "x".repeat(300), "[::1]"]

const extension = (type: number, content: Buffer) => Buffer.concat([u16(type), vector(u16, content)])
const serverName = (name: string) =>
  extension(0, vector(u16, Buffer.concat([u8(0), vector(u16, Buffer.from(name, "latin1"))])))

const records = ({ below, chance }: Dice, message: Buffer): Buffer => {
  const parts: Array<Buffer> = []
  const size = chance(70) ? 16_384 : Math.max(1 + below(200), Math.ceil(message.length / 30))
  for (let at = 0; at < message.length; at += size)
    parts.push(Buffer.from([22, 3, below(4)]), vector(u16, message.subarray(at, at + size)))
  return Buffer.concat(parts)
}

const mutated = ({ below }: Dice, bytes: Buffer): Buffer => {
  const changed = Buffer.from(bytes)
  for (let i = 0; i <= below(4); i++) {
    if (changed.length === 0) break
    const at = below(Math.min(changed.length, 120))
    switch (below(3)) {
      case 0:
        changed[at] = below(256)
        break
      case 1:
        changed[at] = changed[at]! ^ (1 << below(8))
        break
      default:
        changed[at] = below(2) * 255
    }
  }
  return changed
}

/** One of them out of a seed's dice. */
export const drawnHello = (random: Dice): DrawnHello => {
  const { below, chance, oneOf } = random
  const noise = (length: number) => Buffer.from(Array.from({ length }, () => below(256)))
  if (chance(5)) return { bytes: noise(below(300)), isWhole: false }
  const isNamed = chance(80)
  const isBad = chance(15)
  const name = isNamed ? oneOf(isBad ? badNames : names) : undefined
  const extensions: Array<Buffer> = []
  for (let i = 0; i < below(6); i++) extensions.push(extension(1 + below(60_000), noise(below(40))))
  if (name !== undefined) extensions.splice(below(extensions.length + 1), 0, serverName(name))
  if (chance(5)) extensions.push(extension(21, Buffer.alloc(below(longestHello + 2000))))
  const hello = Buffer.concat([
    u16(0x0303),
    Buffer.alloc(32, below(256)),
    vector(u8, noise(below(33))),
    vector(u16, noise(2 * (1 + below(20)))),
    vector(u8, u8(0)),
    ...(extensions.length === 0 && chance(50) ? [] : [vector(u16, Buffer.concat(extensions))])
  ])
  const message = Buffer.concat([u8(1), vector(u24, hello)])
  const bytes = records(random, message)
  if (chance(35)) return { bytes: mutated(random, bytes), isWhole: false }
  if (chance(20)) return { bytes: bytes.subarray(0, below(bytes.length)), isWhole: false }
  const whole = chance(20) ? Buffer.concat([bytes, noise(below(50))]) : bytes
  if (message.length - 4 > longestHello - 4 || (isNamed && isBad)) return { bytes: whole, isWhole: false }
  return { bytes: whole, name: name?.toLowerCase(), isWhole: true }
}

const shown = (bytes: Buffer): string => {
  const hello = readHello(bytes)
  return hello._tag === "Hello" ? `Hello ${hello.serverName}` : hello._tag
}

export const faultOfHello = ({ bytes, name, isWhole }: DrawnHello): string | undefined => {
  const all = shown(bytes)
  if (isWhole && all !== `Hello ${name}`) return `${all}, and it was written as ${name}`
  // What is known from some of the bytes does not change with the next ones.
  const step = Math.max(1, Math.floor(bytes.length / 12))
  for (let length = 0; length < bytes.length; length += step) {
    const some = shown(bytes.subarray(0, length))
    if (some !== "Unfinished" && some !== all) return `${some} by ${length} bytes, ${all} by all of them`
  }
  return undefined
}

export const tlsHellos = batches({
  name: "hellos of TLS",
  proves:
    "the first message of a client is read as it was written, or refused, however many packets and records it comes in",
  of: "hellos",
  drawn: drawnHello,
  pieces: ({ bytes }) => [bytes],
  faultOf: faultOfHello
})
