/**
 * One normal form of paths: what is matched, shown and forwarded is one text, however a client spells it, so that no
 * backend takes a path for another one than the gateway did. Where a backend may decode further than the form does, its
 * reading is told as well.
 */
import { Buffer } from "node:buffer"

/** What becomes of the paths of requests. */
export type Paths = "normalised" | "raw"

/** A path in its normal form. */
export interface NormalPath {
  readonly path: string
  /**
   * The path to whoever also decodes slashes and other reserved characters, drops the parameters of segments (`;a=b`), and
   * takes an encoded `?` or `#` for the end. Absent where that is the same path.
   */
  readonly other: string | undefined
}

/** Why a path has no normal form. */
export interface PathFault {
  readonly fault: string
}

const slash = 0x2f
const dot = 0x2e
const question = 0x3f
const percent = 0x25

const tableOf = (characters: string): Uint8Array => {
  const table = new Uint8Array(256)
  for (let i = 0; i < characters.length; i++) table[characters.charCodeAt(i)] = 1
  return table
}

const letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
/** RFC 3986 2.3. */
const unreserved = tableOf(`${letters}-._~`)
/** What stands in a path as it is (RFC 3986 3.3). */
const literal = tableOf(`${letters}-._~!$&'()*+,;=:@/`)
/** The same without what may need a second look. */
const ordinary = tableOf(`${letters}-._~!$&'()*+,=:@/`)
/** Reserved characters that mean the same to many who decode them, though they need not (RFC 3986 2.2). */
const reserved = tableOf("!$&'()*+,;=:@/?#")

const escapes = Array.from({ length: 256 }, (_, octet) => `%${octet.toString(16).toUpperCase().padStart(2, "0")}`)

/**
 * Whether the path of a target, which begins with a slash, is in its normal form and can be read in one way only. Asked of
 * every request; segments that begin with a dot are left to a closer look.
 */
export const isOrdinary = (target: string): boolean => {
  let before = 0
  for (let i = 0; i < target.length; i++) {
    const code = target.charCodeAt(i)
    if (code === question) return true
    if (code > 0xff || ordinary[code] === 0 || (before === slash && (code === slash || code === dot))) return false
    before = code
  }
  return true
}

/** The normal form of a path that begins with a slash, given as octets (each character is one). */
export const readPath = (path: string): NormalPath | PathFault => {
  const spelled = respelled(path)
  if (typeof spelled !== "string") return spelled
  const normal = withoutDotSegments(spelled)
  const other = otherReading(normal)
  if (typeof other !== "string") return other
  return { path: normal, other: other === normal ? undefined : other }
}

/** The same for a path with its query, which stays as it is. */
export const readTarget = (target: string): NormalPath | PathFault => {
  const query = target.indexOf("?")
  if (query < 0) return readPath(target)
  const read = readPath(target.slice(0, query))
  return "fault" in read ? read : { path: read.path + target.slice(query), other: read.other }
}

/** The octets of a path that somebody wrote, in any characters. */
export const octetsOf = (path: string): string => Buffer.from(path, "utf8").toString("latin1")

const nul: PathFault = { fault: "NUL in the path" }
const backslash: PathFault = { fault: "backslash in the path" }
const control: PathFault = { fault: "control character in the path" }
const notEncoded: PathFault = { fault: "invalid percent-encoding in the path" }
const overlong: PathFault = { fault: "overlong encoding in the path" }
const hiddenDots: PathFault = { fault: "hidden dot segment in the path" }
const hiddenEnd: PathFault = { fault: "encoded delimiter in a path parameter" }

/** Every octet in its one spelling: unreserved characters plain, in capitals what is encoded, and encoded what must be. */
const respelled = (path: string): string | PathFault => {
  let text = ""
  let from = 0
  let before = slash
  for (let i = 0; i < path.length; i++) {
    let octet = path.charCodeAt(i)
    if (octet <= 0xff && literal[octet] === 1) {
      before = octet
      continue
    }
    text += path.slice(from, i)
    const encoded = octet === percent
    if (encoded) {
      const high = digit(path.charCodeAt(i + 1))
      const low = digit(path.charCodeAt(i + 2))
      if (high < 0 || low < 0) return notEncoded
      octet = high * 16 + low
      i += 2
    } else if (octet < 0x20 || octet === 0x7f || octet > 0xff) return octet === 0 ? nul : control
    if (octet === 0) return nul
    if (octet === 0x5c) return backslash
    if (isOverlong(before, octet)) return overlong
    before = octet
    text += encoded && unreserved[octet] === 1 ? String.fromCharCode(octet) : escapes[octet]
    from = i + 1
  }
  return text + path.slice(from)
}

/** The value of a hexadecimal digit, -1 for anything else. */
const digit = (code: number): number => {
  if (code >= 0x30 && code <= 0x39) return code - 0x30
  const lower = code | 0x20
  return lower >= 0x61 && lower <= 0x66 ? lower - 0x57 : -1
}

/** Whether two octets begin a character that has a shorter form in UTF-8: lenient decoders take it for a slash or a dot. */
const isOverlong = (lead: number, octet: number): boolean => {
  if (lead < 0xc0 || octet < 0x80 || octet > 0xbf) return false
  return lead === 0xc0 || lead === 0xc1 || (lead === 0xe0 && octet < 0xa0) || (lead === 0xf0 && octet < 0x90)
}

/** Without dot segments (RFC 3986 5.2.4), and with repeated slashes as one. */
const withoutDotSegments = (path: string): string => {
  if (!path.includes("//") && !path.includes("/.")) return path
  const kept: Array<string> = []
  let open = false
  for (const segment of path.split("/")) {
    open = segment === "" || segment === "." || segment === ".."
    if (!open) kept.push(segment)
    else if (segment === "..") kept.pop()
  }
  return joined(kept, open)
}

const joined = (segments: ReadonlyArray<string>, open: boolean): string =>
  `/${segments.join("/")}${open && segments.length > 0 ? "/" : ""}`

/**
 * See {@link NormalPath}. There is none where decoding shows a dot segment, or a delimiter among parameters: where those
 * lead, no two readers agree.
 */
const otherReading = (normal: string): string | PathFault => {
  const decoded = decodedFurther(normal)
  if (decoded === normal && !normal.includes(";")) return normal
  for (const segment of normal.split("/")) {
    const parameters = segment.indexOf(";")
    if (parameters >= 0 && segment.includes("%2F", parameters)) return hiddenEnd
  }
  const kept: Array<string> = []
  let open = false
  let over = false
  for (const segment of decoded.split("/")) {
    const end = segment.search(ending)
    const name = end < 0 ? segment : segment.slice(0, end)
    if (name === "." || name === "..") return hiddenDots
    const ends = segment.includes("?") || segment.includes("#")
    if (ends && segment[end] === ";") return hiddenEnd
    if (over) continue
    open = name === ""
    if (!open) kept.push(name)
    over = ends
  }
  return joined(kept, open)
}

/** Where the name of a segment ends for somebody. */
const ending = /[;?#]/

const decodedFurther = (normal: string): string => {
  let text = ""
  let from = 0
  for (let at = normal.indexOf("%"); at >= 0; at = normal.indexOf("%", at + 3)) {
    const octet = digit(normal.charCodeAt(at + 1)) * 16 + digit(normal.charCodeAt(at + 2))
    if (reserved[octet] === 0) continue
    text += normal.slice(from, at) + String.fromCharCode(octet)
    from = at + 3
  }
  return text + normal.slice(from)
}
