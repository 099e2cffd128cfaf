/** The checksum of the PROXY protocol (CRC-32C, RFC 3720 B.4). The one of the runtime is of another polynomial. */

const polynomial = 0x82f63b78

const table = Uint32Array.from({ length: 256 }, (_, byte) => {
  let value = byte
  for (let bit = 0; bit < 8; bit++) value = value & 1 ? (value >>> 1) ^ polynomial : value >>> 1
  return value >>> 0
})

export const crc32c = (bytes: Uint8Array): number => {
  let sum = 0xffffffff
  for (const byte of bytes) sum = (sum >>> 8) ^ table[(sum ^ byte) & 0xff]!
  return (sum ^ 0xffffffff) >>> 0
}
