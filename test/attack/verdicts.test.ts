/** What outside servers said of every form of a request, held against what we expect of it. `npm run judge -- framing` asks them. */
import { assert, describe, it } from "@effect/vitest"
import { serverNames } from "../../judges/framing/servers.ts"
import { difference, differences, digest, readVerdicts } from "../../judges/framing/verdicts.ts"
import { forms } from "./request-forms.ts"

describe("the verdicts of other servers", () => {
  const { versions, forms: judged } = readVerdicts()

  it("are of all of them, and of every form as it is", () => {
    assert.sameMembers(Object.keys(versions), [...serverNames])
    const stale = forms.filter((form) => judged[form.title]?.digest !== digest(form)).map(({ title }) => title)
    assert.deepStrictEqual(stale, [], "run npm run judge -- framing, and commit what it wrote")
    assert.sameMembers(
      Object.keys(judged),
      forms.map(({ title }) => title)
    )
  })

  it("are ours, but for listed differences: what all of them refuse is refused, what all of them take is taken", () => {
    const found = forms.filter((form) => difference(form, judged[form.title]!.verdicts) !== undefined)
    assert.sameMembers(
      found.map(({ title }) => title),
      Object.keys(differences)
    )
    const laxer = found.filter((form) => difference(form, judged[form.title]!.verdicts) === "laxer")
    assert.deepStrictEqual(laxer, [])
  })
})
