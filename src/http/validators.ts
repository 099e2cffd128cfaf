/** What a message says of the very bytes of its body, for those who put others in their place. */
import type { HeaderList } from "./header-list.ts"

/** Fields that hold for the bytes that came and for no others (RFC 9110 8.4, 8.6, 14.3; RFC 9530). */
export const fieldsOfBytes: ReadonlySet<string> = new Set([
  "content-length",
  "content-encoding",
  "content-md5",
  "digest",
  "content-digest",
  "repr-digest",
  "accept-ranges"
])

/** A strong tag becomes a weak one: the bytes are not those that it was given for (RFC 9110 8.8.1). */
export const weakenTag = (headers: HeaderList): void => {
  const tag = headers.get("etag")
  if (tag?.startsWith('"') === true) headers.set("etag", `W/${tag}`)
}
