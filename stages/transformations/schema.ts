/** The wire shape of transformations: changes of messages by expressions. Connections of policies share it. */
import { declared, Transformations } from "../../spec/policy.ts"

export { Transformations }

export type Changes = NonNullable<(typeof Transformations)["Type"]["request" | "response"]>

/** Whether it changes nothing. */
const isEmpty = (changes: Changes | undefined): boolean =>
  changes === undefined ||
  Object.values(changes).every((value) => typeof value === "object" && Object.keys(value).length === 0)

export const transformations = declared(Transformations, {
  places: ["gateway", "route", "backend", "llm"],
  conditional: true,
  judgesPaths: (changes) => JSON.stringify(changes).includes('":path"'),
  changesBodies: ({ request, response }) => request?.body !== undefined || response?.body !== undefined,
  isIdle: ({ request, response }) => isEmpty(request) && isEmpty(response)
})
