/**
 * Requests, generated and mutated, several on a connection and in any chunking, read by the listener and by llhttp. Both come
 * to the same requests, byte for byte; where they differ it is the listener that refuses, for one of the listed reasons.
 */
import { isHopByHop } from "../../src/http/framing.ts"
import { llhttpRequests, ownRequests, type ReadRequest } from "../http/llhttp.ts"
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

/** Why the listener refuses what llhttp reads. */
const stricter: Readonly<Record<string, string>> = {
  version: "llhttp reads HTTP/0.9, HTTP/2.0, RTSP and ICE as if they were HTTP",
  method: "it looks for methods of RTSP, too",
  "request line": "it skips what stands before one, and reads a CONNECT without a target",
  "line break": "it skips any halves of line breaks before a request",
  "transfer-encoding": "a tab behind a coding hides it from some",
  "chunk size": "it counts beyond what a double holds",
  "chunk extension": "it reads those without a value behind their sign",
  "body of a wish for another protocol": "it tells nobody of malformed bytes in one",
  trailer: "a length in a trailer comes too late for everybody",
  "no authority or host": "it leaves that to its user, as all that follows",
  "invalid authority or host": "",
  "more than one host header": "",
  "invalid request target": "",
  "fragment in the request target": "",
  "asterisk-form target": "",
  "method not allowed": "",
  "unknown expectation": "",
  "more than one content-length header": "",
  "content-length is not a number": "",
  "more than one transfer-encoding header": "",
  "both content-length and transfer-encoding": "",
  "transfer-encoding in an HTTP/1.0 request": "",
  "transfer-encoding behind chunked": "",
  "unsupported transfer-encoding": "",
  "invalid percent-encoding in the path": "no two readers agree on such paths",
  "control character in the path": "",
  "NUL in the path": "",
  "backslash in the path": "",
  "overlong encoding in the path": "",
  "hidden dot segment in the path": "",
  "encoded delimiter in a path parameter": ""
}

const requestLines = [
  ...["GET / HTTP/1.1", "POST /p?q=1 HTTP/1.1", "HEAD / HTTP/1.1", "PUT /a/../b HTTP/1.1", "DELETE /%7e HTTP/1.1"],
  ...["GET / HTTP/1.0", "OPTIONS * HTTP/1.1", "GET http://b/x HTTP/1.1", "M-SEARCH * HTTP/1.1", "QUERY / HTTP/1.1"],
  ...["GET  / HTTP/1.1", "GET /  HTTP/1.1", "GET / HTTP/1.1 ", "GET /", "GET", "GET\t/ HTTP/1.1", "get / HTTP/1.1"],
  ...["FOO / HTTP/1.1", "GET / HTTP/1.2", "GET / HTTP/2.0", "GET / HTTP/0.9", "GET / http/1.1", "GET / RTSP/1.0"],
  ...["SOURCE / ICE/1.0", "DESCRIBE / RTSP/1.0", "PRI * HTTP/2.0", "CONNECT a:1 HTTP/1.1", "TRACE / HTTP/1.1"],
  ...["GET /\xe4 HTTP/1.1", "GET /a#b HTTP/1.1", "GET * HTTP/1.1", "GET a:80 HTTP/1.1", "GET / HTTP/1.10"]
]
const hosts = ["Host: a", "host: A:80", "HOST: \t a ", "Host: a\r\nHost: a", "X-Host: a", "Host: a/b"]

/** llhttp lets what is meant for another proxy end its connection, too. */
const ownConnectionLines = connectionLines.filter((line) => !line.startsWith("Proxy-Connection"))

const requestText = (random: Dice): string => {
  const { below, oneOf, chance } = random
  const lines = [chance(80) ? "POST /p HTTP/1.1" : oneOf(requestLines), chance(95) ? "Host: a" : oneOf(hosts)]
  for (let i = below(4); i > 0; i--) lines.push(oneOf(plainLines))
  if (chance(10)) lines.push(oneOf(ownConnectionLines))
  if (chance(10)) lines.push(oneOf(hostileLines))
  if (chance(5)) lines.push(oneOf(["Expect: 100-continue", "Expect: x", "Connection: upgrade\r\nUpgrade: x"]))
  let body = ""
  for (let i = below(chance(5) ? 400 : 24); i > 0; i--) body += chance(20) ? oneOf(oddBytes) : "x"
  const framing = below(10)
  if (framing < 3) lines.splice(1 + below(lines.length), 0, `Content-Length: ${body.length}`)
  else if (framing < 6) {
    lines.splice(1 + below(lines.length), 0, "Transfer-Encoding: chunked")
    body = chunksOf(body, random)
  } else if (framing < 9) body = ""
  const before = chance(5) ? oneOf(["\r\n", "\r\n\r\n", "\n", "\r", " "]) : ""
  return `${before}${lines.join("\r\n")}\r\n\r\n${body}`
}

const generatedRequests = (random: Dice): ReadonlyArray<Buffer> => {
  const texts = Array.from({ length: 1 + random.below(4) }, () => requestText(random))
  return cut(Buffer.from(mutated(texts.join(""), random), "latin1"), random)
}

const forbiddenTrailers = new Set(["content-type", "host", "set-cookie", "content-encoding", "content-range"])

/** What passes on of the trailers that llhttp read. */
const passing = (trailers: ReadonlyArray<string> | undefined): ReadonlyArray<string> | undefined =>
  trailers?.filter((_, i) => {
    const name = trailers[i - (i % 2)]!
    return !isHopByHop(name) && !forbiddenTrailers.has(name)
  })

/** What speaks against the listener's reading; `undefined` when nothing does. */
const faultOf = (pieces: ReadonlyArray<Buffer>): string | undefined => {
  const own = ownRequests(pieces)
  const whole = ownRequests([Buffer.concat(pieces)])
  const told = () => JSON.stringify({ own, theirs })
  const theirs = llhttpRequests(pieces)
  // Which of its faults is met first may depend on how much of a head is there.
  if (
    JSON.stringify(own.requests) !== JSON.stringify(whole.requests) ||
    (own.refused === undefined) !== (whole.refused === undefined)
  )
    return `another chunking, another reading: ${JSON.stringify({ own, whole })}`
  const isWhole = ({ trailers }: ReadRequest) => trailers !== undefined
  const read = own.requests.filter(isWhole)
  for (const [i, request] of read.entries()) {
    const other = theirs.requests[i]
    if (other === undefined || !isWhole(other)) return `read what llhttp does not: ${told()}`
    if (JSON.stringify(request) !== JSON.stringify({ ...other, trailers: passing(other.trailers) }))
      return `another request: ${told()}`
  }
  if (own.refused !== undefined)
    return theirs.refused !== undefined || own.refused in stricter
      ? undefined
      : `refused for no listed reason: ${told()}`
  return theirs.refused === undefined && theirs.requests.filter(isWhole).length > read.length
    ? `missed a request: ${told()}`
    : undefined
}

export const requestsByLlhttp = batches({
  name: "requests by llhttp",
  proves: "the listener reads requests as llhttp does, byte for byte, or refuses them for a listed reason",
  of: "connections",
  drawn: generatedRequests,
  pieces: (pieces) => pieces,
  faultOf
})
