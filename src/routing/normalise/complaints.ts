/** Collects what is wrong between the parts of a file, so that all of it is told at once. */
import type { Path } from "../../../spec/config/path.ts"
import type { Complaint } from "../../../spec/config/positions.ts"

export interface Complaints {
  readonly list: ReadonlyArray<Complaint>
  readonly add: (path: Path, message: string, missing?: Complaint["missing"]) => void
}

export const complaints = (): Complaints => {
  const list: Array<Complaint> = []
  return { list, add: (path, message, missing) => list.push({ path, message, ...(missing && { missing }) }) }
}
