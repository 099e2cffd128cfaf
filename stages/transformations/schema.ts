/** The wire shape of transformations: changes of messages by expressions. Connections of policies share it. */
import { declared, Transformations } from "../../spec/policy.ts"

export { Transformations }

export const transformations = declared(Transformations, {
  places: ["gateway", "route", "backend", "llm"],
  conditional: true,
  judgesPaths: (changes) => JSON.stringify(changes).includes('":path"')
})
