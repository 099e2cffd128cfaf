/** The texts that the events of a streamed answer add, in the client's format: what streaming guards collect. */
import { createHash, type Hash } from "node:crypto"
import { doubtOf } from "../../../cel/json-text.ts"
import { isObject, parseJson } from "../formats/json.ts"
import { looksLike } from "./assignment.ts"
import { TextWalk } from "./text-walk.ts"
import { everyScope, type GuardedFormat, places } from "./texts.ts"

/** A piece of text, and which of the texts that come side by side it belongs to: answers, thoughts, arguments of calls. */
export interface StreamedText {
  readonly channel: string
  readonly text: string
  /**
   * Whether the stream said all of this before, in another channel, and nothing yet in this one. It was judged there; here it is
   * kept as what stands before the next text.
   */
  readonly repeated: boolean
}

/** How much of what stands before is judged again, so that what spans two windows is seen. */
export const overlapBytes = 256

/** More than any provider offers; all further ones share one, so that a stream cannot make a guard keep more. */
const maxChannels = 256

interface Channel {
  length: number
  readonly hash: Hash
}

/** Reads one stream. */
export class StreamTexts {
  private readonly format: GuardedFormat
  private readonly channels = new Map<string, Channel>()

  constructor(format: GuardedFormat) {
    this.format = format
  }

  /** What an event adds; `undefined` when it cannot be read, and a client might. */
  read(event: string | undefined, data: string): ReadonlyArray<StreamedText> | undefined {
    const texts: Array<StreamedText> = []
    if (event !== undefined && !looksLike.name(event)) this.add("event", event, texts)
    if (data === "" || data === done) return texts
    const json = parseJson(data)
    if (!isObject(json) || doubtOf(data, json) !== undefined) return undefined
    const walk = new TextWalk(
      (text) => {
        if (text !== "") this.add(channelOf(walk.trail), text, texts)
        return text
      },
      everyScope,
      "strings"
    )
    walk.body(places()[this.format].event, json)
    return walk.tooDeep ? undefined : texts
  }

  private add(name: string, text: string, texts: Array<StreamedText>): void {
    const channel = this.channels.has(name) || this.channels.size < maxChannels ? name : "others"
    let known = this.channels.get(channel)
    const repeats = this.repeats(channel, text)
    texts.push({ channel, text: repeats && known !== undefined ? seamsOf(text) : text, repeated: repeats && !known })
    if (known === undefined) {
      known = { length: 0, hash: createHash("sha256") }
      this.channels.set(channel, known)
    }
    known.length += text.length
    known.hash.update(text)
  }

  /** Streams end with all of a text once more, some of them three times. */
  private repeats(channel: string, text: string): boolean {
    if (text.length < repeatable) return false
    let digest: string | undefined
    for (const [name, { length, hash }] of this.channels) {
      if (length !== text.length || name === channel) continue
      digest ??= createHash("sha256").update(text).digest("base64")
      if (hash.copy().digest("base64") === digest) return true
    }
    return false
  }
}

/** Of a text that was judged elsewhere, what may belong together with what stands before or behind it. */
const seamsOf = (text: string): string =>
  text.length <= 2 * overlapBytes ? text : `${text.slice(0, overlapBytes)}\n${text.slice(-overlapBytes)}`

/** Shorter texts are judged again at no cost. */
const repeatable = 16

const done = "[DONE]"

/** Its indexes and its last name: what a block begins with stands elsewhere than what it goes on with. */
const channelOf = (trail: ReadonlyArray<string>): string => {
  const indexes = trail.filter((step) => /^[#\d]/.test(step)).join("")
  return `${indexes}/${trail.at(-1) ?? ""}`
}
