/** Bodies that a target compresses although it was not asked to. */
import {
  type BrotliDecompress,
  createBrotliDecompress,
  createGunzip,
  createInflate,
  createZstdDecompress,
  type Gunzip,
  type Inflate,
  type ZstdDecompress
} from "node:zlib"

/** Takes the compressed bytes, gives the others. */
export type Decoder = Gunzip | Inflate | BrotliDecompress | ZstdDecompress

/** `undefined` for a body that is sent as it is; `"unknown"` for an encoding that cannot be undone. */
export const decoderFor = (contentEncoding: string | undefined): Decoder | "unknown" | undefined => {
  switch (contentEncoding?.trim().toLowerCase()) {
    case undefined:
    case "":
    case "identity":
      return undefined
    case "gzip":
    case "x-gzip":
      return createGunzip()
    case "deflate":
      return createInflate()
    case "br":
      return createBrotliDecompress()
    case "zstd":
      return createZstdDecompress()
    default:
      return "unknown"
  }
}
