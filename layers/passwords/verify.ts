/** Whether a password is the one of a hash, for each kind of hash. It takes its time, up to more than a second: it is for a thread of its own. */
/// <reference path="./unix-crypt.d.ts" />
import { Buffer } from "node:buffer"
import { createHash, timingSafeEqual } from "node:crypto"
import { hashSync } from "bcryptjs"
import unixCrypt from "unix-crypt-td-js"
import { type HashKind, kindOf } from "./list.ts"

/** @param hash of a line of a list. */
export const verify = (password: string, hash: string): boolean => {
  const kind = kindOf(hash)
  return kind !== undefined && isSame(hashers[kind](password, hash), hash)
}

/** Hashes a password as the hash says that it was. */
const hashers: Readonly<Record<HashKind, (password: string, hash: string) => string>> = {
  // The letter says which program wrote it. What they write differs for passwords that no release since 2011 hashes another way.
  bcrypt: (password, hash) => hash.slice(0, 4) + hashSync(password, `$2b$${hash.slice(4, 29)}`).slice(4),
  apr1: (password, hash) => apr1(Buffer.from(password, "utf8"), hash.split("$")[2]!),
  sha1: (password) => `{SHA}${createHash("sha1").update(password, "utf8").digest("base64")}`,
  crypt: (password, hash) => unixCrypt([...Buffer.from(password, "utf8")], hash.slice(0, 2))
}

const isSame = (a: string, b: string): boolean => {
  const [left, right] = [Buffer.from(a, "latin1"), Buffer.from(b, "latin1")]
  return left.length === right.length && timingSafeEqual(left, right)
}

const md5 = (parts: ReadonlyArray<Uint8Array>): Buffer => {
  const hash = createHash("md5")
  for (const part of parts) hash.update(part)
  return hash.digest()
}

const letters = "./0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
/** The bytes of the digest in the order in which they are written, three at a time. */
const order = [0, 6, 12, 1, 7, 13, 2, 8, 14, 3, 9, 15, 4, 10, 5] as const

/** The password hash of Apache: a thousand rounds of MD5 over password and salt, each put together another way. */
const apr1 = (password: Buffer, salt: string): string => {
  const salted = Buffer.from(salt, "latin1")
  const twice = md5([password, salted, password])
  const parts: Array<Uint8Array> = [password, Buffer.from("$apr1$", "latin1"), salted]
  for (let left = password.length; left > 0; left -= 16) parts.push(twice.subarray(0, Math.min(left, 16)))
  for (let bits = password.length; bits > 0; bits >>= 1)
    parts.push((bits & 1) === 1 ? Buffer.alloc(1) : password.subarray(0, 1))
  let digest = md5(parts)
  for (let round = 0; round < 1000; round++) {
    const odd = round % 2 === 1
    digest = md5([
      odd ? password : digest,
      ...(round % 3 === 0 ? [] : [salted]),
      ...(round % 7 === 0 ? [] : [password]),
      odd ? digest : password
    ])
  }
  let text = ""
  const write = (value: number, count: number) => {
    for (let i = 0; i < count; i++) text += letters[(value >> (6 * i)) & 63]
  }
  for (let at = 0; at < order.length; at += 3)
    write((digest[order[at]!]! << 16) | (digest[order[at + 1]!]! << 8) | digest[order[at + 2]!]!, 4)
  write(digest[11]!, 2)
  return `$apr1$${salt}$${text}`
}
