/** A WebSocket between a client of HTTP/2, which proves nothing with a key, and a backend of HTTP/1.1, which has to (RFC 6455 4.1). */
import { createHash } from "node:crypto"
import type { HeaderList } from "../../../src/http/header-list.ts"

/** What every server appends to the key. */
const suffix = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"

/** Whether the answer is that of somebody who has read the request. */
export const answersKey = (answer: HeaderList, key: string): boolean =>
  answer.get("sec-websocket-accept") ===
  createHash("sha1")
    .update(key + suffix)
    .digest("base64")
