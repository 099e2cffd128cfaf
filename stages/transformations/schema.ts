/** The wire shape of transformations: changes of messages by expressions. Connections of policies share it. */
import { Transformations } from "../../spec/connection/transformation.ts"
import { declared } from "../../spec/standalone/policies.ts"

export { Transformations }

export const transformations = declared(Transformations, {
  places: ["gateway", "route", "backend", "llm"],
  conditional: true,
  judgesPaths: (changes) => JSON.stringify(changes).includes('":path"')
})
