/** Lists of users in the form of htpasswd: a line each, `name:hash`. Which lines count, and of which kind their hashes are. */

/** How a password was hashed. */
export type HashKind = "bcrypt" | "apr1" | "sha1" | "crypt"

/** The costliest bcrypt that is checked: over a second of a processor. Each step more doubles it, and who asks need not know any password. */
export const maxBcryptCost = 14

const bcryptHash = /^\$2[abxy]\$(\d\d)\$[./0-9A-Za-z]{53}$/
const shapes: ReadonlyArray<readonly [HashKind, RegExp]> = [
  ["apr1", /^\$apr1\$[^$]{1,8}\$[./0-9A-Za-z]{22}$/],
  ["sha1", /^\{SHA\}[A-Za-z0-9+/]{27}=$/],
  ["crypt", /^[./0-9A-Za-z]{13}$/]
]

/** The kind of a hash that can be checked. A password that is written out is none. */
export const kindOf = (hash: string): HashKind | undefined => {
  const cost = bcryptHash.exec(hash)?.[1]
  if (cost !== undefined) return Number(cost) >= 4 && Number(cost) <= maxBcryptCost ? "bcrypt" : undefined
  return shapes.find(([, shape]) => shape.test(hash))?.[0]
}

export interface UserList {
  /** Hashes by name; of several lines with one name the last one counts. */
  readonly hashes: ReadonlyMap<string, string>
  /** Numbers of lines by which nobody can log in, the first one is 1. */
  readonly unusable: ReadonlyArray<number>
}

export const readList = (text: string): UserList => {
  const hashes = new Map<string, string>()
  const unusable: Array<number> = []
  for (const [index, written] of text.split(/\r?\n/).entries()) {
    const line = written.trim()
    if (line === "" || line.startsWith("#")) continue
    const colon = line.indexOf(":")
    // Further fields are for people.
    const hash = line.slice(colon + 1).split(":")[0]!
    if (colon <= 0 || kindOf(hash) === undefined) unusable.push(index + 1)
    else hashes.set(line.slice(0, colon), hash)
  }
  return { hashes, unusable }
}
