/** Why a stream or a session ends (RFC 9113 7). Written out: to ask the runtime would load all of its HTTP/2 for a few numbers. */

const names = [
  "NO_ERROR",
  "PROTOCOL_ERROR",
  "INTERNAL_ERROR",
  "FLOW_CONTROL_ERROR",
  "SETTINGS_TIMEOUT",
  "STREAM_CLOSED",
  "FRAME_SIZE_ERROR",
  "REFUSED_STREAM",
  "CANCEL",
  "COMPRESSION_ERROR",
  "CONNECT_ERROR",
  "ENHANCE_YOUR_CALM",
  "INADEQUATE_SECURITY",
  "HTTP_1_1_REQUIRED"
] as const

/** Those that are used here. */
export const code = {
  none: names.indexOf("NO_ERROR"),
  internalError: names.indexOf("INTERNAL_ERROR"),
  refused: names.indexOf("REFUSED_STREAM"),
  cancel: names.indexOf("CANCEL"),
  calm: names.indexOf("ENHANCE_YOUR_CALM")
}

export const nameOf = (code: number): string => names[code] ?? `code ${code}`
