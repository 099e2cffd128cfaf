/** Rows that several formats share. */
import type { Assignment } from "../assignment.ts"

export type Rows = Readonly<Record<string, Assignment>>

/** Rows below a path. */
export const under = (path: string, rows: Rows): Rows =>
  Object.fromEntries(
    Object.entries(rows).map(([below, assignment]) => [
      below === "" ? path : below.startsWith("[") || below.startsWith("{") ? path + below : `${path}.${below}`,
      assignment
    ])
  )

/** The same rows below several paths. */
export const underEach = (paths: ReadonlyArray<string>, rows: Rows): Rows =>
  Object.assign({}, ...paths.map((path) => under(path, rows)))

/** A JSON schema: what describes is text, what a machine reads is not. */
export const schema: Rows = {
  "**.type": "choice",
  "**.format": "choice",
  "**.$ref": "name",
  "**.$schema": "address",
  "**.required": "name"
}

/** How long a part is kept, of those who are told to. */
export const cached: Rows = { "cache_control.type": "choice", "cache_control.ttl": "choice" }

/** The errors of providers: all but a few words is read. */
export const errorRows: Rows = {
  type: "choice",
  object: "choice",
  status: "choice",
  code: "choice",
  request_id: "id",
  "error.type": "choice",
  "error.code": "choice",
  "error.param": "name",
  "error.status": "choice",
  "error.details[].@type": "address"
}
