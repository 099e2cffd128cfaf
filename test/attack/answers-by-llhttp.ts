/**
 * Answers of backends, generated and mutated, in any chunking, read by the HTTP client and by llhttp. Both come to the same
 * status, headers and bytes; where they differ it is the client that refuses, for one of the listed reasons.
 */
import { isHopByHop } from "../../src/http/framing.ts"
import { llhttpVerdict, ownVerdict, type Received, type Verdict } from "../http/llhttp.ts"
import {
  batches,
  chunksOf,
  connectionLines,
  cut,
  type Dice,
  hostileLines,
  mutated,
  oddBytes,
  plainLines
} from "./messages.ts"

/** Why the client refuses what llhttp reads. */
const stricter: Readonly<Record<string, string>> = {
  version: "llhttp reads HTTP/0.9 and HTTP/2.0 as if they were HTTP/1.1",
  status: "it takes any three digits for a status",
  "status line": "it skips empty lines before a response, and speaks RTSP and ICE",
  "transfer-encoding": "it passes codings on that nobody has undone",
  "transfer-encoding in HTTP/1.0": "HTTP/1.0 has no chunks, and a cache of HTTP/1.0 in between would not see them",
  "more than one transfer-encoding": "it joins them",
  "interim response in HTTP/1.0": "it takes what follows for bytes behind the end, unless the connection is kept",
  "interim response that closes": "it takes what follows for bytes behind the end",
  "interim response with a body": "no interim response has one",
  "100 that nobody asked for": "nothing that the proxy sends asks for it",
  "101 that nobody asked for": "it leaves that to its user",
  "content-length": "it counts beyond what a double holds",
  "chunk size": "it counts beyond what a double holds",
  "chunk extension": "it reads those without a value behind their sign",
  "chunk extensions too long": "it reads more than 128 KiB of them",
  trailer: "a length in a trailer comes too late for everybody",
  "control character": "it lets them pass in a reason",
  "line break": "it ends a reason at a lone carriage return"
}

const statusLines = [
  ...["HTTP/1.1 200", "HTTP/1.1 200 ", "HTTP/1.1 404 Not Found", "HTTP/1.1 500 \xe4\xff", "HTTP/1.0 200 OK"],
  ...["HTTP/1.1 204 No Content", "HTTP/1.1 304 Not Modified", "HTTP/1.1 205 Reset", "HTTP/1.1 599 x", "HTTP/1.1 600 x"],
  ...["HTTP/1.2 200 OK", "HTTP/2.0 200 OK", "HTTP/0.9 200 OK", "ICY 200 OK", "RTSP/1.0 200 OK", "HTTP/1.1 20 OK"],
  ...["HTTP/1.1 2000 OK", "HTTP/1.1  200 OK", "http/1.1 200 OK", "HTTP/1.1\t200 OK", "HTTP/1.1 101 X", "HTTP/1.1 099 X"]
]
const interimHeads = [
  ...["HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n", "HTTP/1.1 102 P\r\n\r\n", "HTTP/1.1 199 X\r\nA: b\r\n\r\n"],
  ...["HTTP/1.0 102 P\r\n\r\n", "HTTP/1.1 103 X\r\nConnection: close\r\n\r\n"],
  ...["HTTP/1.1 100 Continue\r\n\r\n", "HTTP/1.1 103 E\r\nContent-Length: 3\r\n\r\n"]
]
const answerText = (random: Dice): string => {
  const { below, oneOf, chance } = random
  const lines = [chance(75) ? "HTTP/1.1 200 OK" : oneOf(statusLines)]
  for (let i = below(4); i > 0; i--) lines.push(oneOf(plainLines))
  if (chance(20)) lines.push(oneOf(connectionLines))
  if (chance(15)) lines.push(oneOf(hostileLines))
  let body = ""
  for (let i = below(chance(5) ? 400 : 24); i > 0; i--) body += chance(20) ? oneOf(oddBytes) : "x"
  const framing = below(10)
  if (framing < 4) lines.splice(1 + below(lines.length), 0, `Content-Length: ${body.length}`)
  else if (framing < 8) {
    lines.splice(1 + below(lines.length), 0, "Transfer-Encoding: chunked")
    body = chunksOf(body, random)
  }
  const before = chance(10) ? oneOf(interimHeads).repeat(1 + below(3)) : ""
  const behind = chance(8) ? oneOf(["HTTP/1.1 200 OK\r\n\r\n", "\r\n", "x", "0\r\n\r\n"]) : ""
  return `${before}${lines.join("\r\n")}\r\n\r\n${body}${behind}`
}

export const generatedAnswer = (random: Dice): Received => {
  const bytes = Buffer.from(mutated(answerText(random), random), "latin1")
  return { pieces: cut(bytes, random), closes: random.chance(35), bodiless: random.chance(8) }
}

/** Whether the shorter list is the longer one without lines that concern the connection, or that it nominates. */
const endToEnd = (all: ReadonlyArray<string>, passed: ReadonlyArray<string>): boolean => {
  const nominated = all.flatMap((name, i) =>
    i % 2 === 0 && name === "connection"
      ? all[i + 1]!.toLowerCase()
          .split(",")
          .map((one) => one.trim())
      : []
  )
  const kept: Array<string> = []
  for (let i = 0; i < all.length; i += 2) {
    const name = all[i]!
    if (isHopByHop(name)) continue
    if (nominated.includes(name) && !passed.includes(name)) continue
    kept.push(name, all[i + 1]!)
  }
  return JSON.stringify(kept) === JSON.stringify(passed)
}

const forbiddenTrailers = new Set(["content-type", "host", "set-cookie", "content-encoding", "content-range"])

/** What speaks against the client's reading; `undefined` when nothing does. */
export const faultOf = (received: Received): string | undefined => {
  const own = ownVerdict(received)
  const whole = ownVerdict({ ...received, pieces: [Buffer.concat(received.pieces)] })
  // Which of its faults is met first may depend on how much of a head is there.
  if (JSON.stringify({ ...own, reason: "" }) !== JSON.stringify({ ...whole, reason: "" }))
    return `another chunking, another reading: ${JSON.stringify(whole)}`
  const theirs = llhttpVerdict(received)
  const fault = disagreement(own, theirs)
  return fault === undefined ? undefined : `${fault}: ${JSON.stringify({ own, theirs })}`
}

const disagreement = (own: Verdict, theirs: Verdict): string | undefined => {
  if (own.end === "refused") {
    if (theirs.end === "refused" || own.reason in stricter) return undefined
    return "refused for no listed reason"
  }
  // What has not been read to its end has not been believed yet.
  if (theirs.end === "refused") return own.end === "whole" ? "read what llhttp refuses" : undefined
  if (own.status !== theirs.status || own.interim.join() !== theirs.interim.join()) return "another status"
  if (own.end !== theirs.end) return "another end"
  if (own.body !== theirs.body) return "another body"
  if (!endToEnd(theirs.headers, own.headers)) return "other headers"
  const trailers: Array<string> = []
  for (let i = 0; i < theirs.trailers.length; i += 2)
    if (!isHopByHop(theirs.trailers[i]!) && !forbiddenTrailers.has(theirs.trailers[i]!))
      trailers.push(theirs.trailers[i]!, theirs.trailers[i + 1]!)
  return JSON.stringify(trailers) === JSON.stringify(own.trailers) ? undefined : "other trailers"
}

export const answersByLlhttp = batches({
  name: "answers by llhttp",
  proves: "the client reads an answer as llhttp does, byte for byte, or refuses it for a listed reason",
  of: "answers",
  drawn: generatedAnswer,
  pieces: ({ pieces }) => pieces,
  faultOf
})
