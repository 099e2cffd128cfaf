/** Files as Bedrock documents, which want a format from a short list and a unique name of harmless characters. */
import type { ConverseBlock } from "../../formats/converse.ts"
import type { RequestReader } from "../../formats/reader.ts"
import type { FilePart } from "../conversation.ts"

const formatsByType: ReadonlyMap<string, string> = new Map([
  ["application/pdf", "pdf"],
  ["text/csv", "csv"],
  ["application/msword", "doc"],
  ["application/vnd.openxmlformats-officedocument.wordprocessingml.document", "docx"],
  ["application/vnd.ms-excel", "xls"],
  ["application/vnd.openxmlformats-officedocument.spreadsheetml.sheet", "xlsx"],
  ["text/html", "html"],
  ["text/plain", "txt"],
  ["text/markdown", "md"]
])
const formats: ReadonlySet<string> = new Set(formatsByType.values())

const splitName = (name: string): readonly [stem: string, extension: string] => {
  const dot = name.lastIndexOf(".")
  return dot < 0 ? [name, ""] : [name.slice(0, dot), name.slice(dot + 1).toLowerCase()]
}

export class Documents {
  private readonly reader: RequestReader
  private readonly names = new Map<string, number>()

  constructor(reader: RequestReader) {
    this.reader = reader
  }

  encode({ name, source }: FilePart, at: string): ReadonlyArray<ConverseBlock> {
    const [stem, extension] = splitName(name ?? "")
    if (source.kind !== "inline") {
      this.reader.refuse("unsupported content: files must be given as data", at)
      return []
    }
    const format = formatsByType.get(source.mediaType ?? "") ?? (formats.has(extension) ? extension : undefined)
    if (format === undefined) {
      this.reader.refuse("unsupported content: file format", at)
      return []
    }
    return [{ document: { format, name: this.unique(stem), source: { bytes: source.data } } }]
  }

  private unique(stem: string): string {
    const name = stem.replace(/[^A-Za-z0-9()[\]-]+/g, " ").trim() || "document"
    const count = (this.names.get(name) ?? 0) + 1
    this.names.set(name, count)
    return count === 1 ? name : `${name} [${count}]`
  }
}
