/**
 * Which strings of a document guards read, and as what: rows of paths, each with a scope or with the reason why what stands there is left
 * alone. What no row speaks of counts as messages, so that a shape that nobody knows cannot hide a text.
 */

/** The parts of a conversation that a guard can be limited to. */
export const contentScopes = ["systemPrompt", "messages", "toolOutput", "toolInput"] as const
export type ContentScope = (typeof contentScopes)[number]

/** What guards look at when nothing else is configured. */
export const defaultScopes: ReadonlySet<ContentScope> = new Set(["systemPrompt", "messages"])

/** What is neither read nor masked, and why. Where a string does not look like what its row says, it is read all the same. */
export const skips = {
  id: "an identifier: whoever made it must know it again",
  name: "a name of a model, tool, member or file: a call must find it again",
  choice: "one of the words that a format has for this place",
  address: "an address of something",
  data: "encoded data (images, sound, documents, signatures, sealed reasoning): not text",
  token: "a piece of a text that is read itself; it goes where that text is changed",
  echo: "what the client sent, said back to it"
} as const
export type Skip = keyof typeof skips

export type Assignment = ContentScope | Skip

/**
 * Paths: members by name, `*` for any; `[]` for every item of a list, `[type=a|b]` for those with such a member (`*b`: ending so), and
 * `{type=a}` for an object that has it. `**.name` speaks of that member of any object below. A scope holds for everything below a path,
 * a reason for the string, or the strings of a list, that stand there; an echo is left alone with all that is in it.
 */
export interface Assignments {
  readonly rows: Readonly<Record<string, Assignment>>
  /**
   * Lists of content parts. Texts that follow each other are read as one, with this between them, as well as without anything; `undefined`:
   * each by itself, and all without anything between them.
   */
  readonly parts?: Readonly<Record<string, string | undefined>>
  /** Below them every string is a value of its own, never a piece of one text. */
  readonly values?: ReadonlyArray<string>
  /** Parts that are worthless once changed, because somebody signed them: they go as a whole. */
  readonly signed?: ReadonlyArray<string>
  /** Members that tell positions in a text: they are emptied where the text beside them is changed. */
  readonly positions?: Readonly<Record<string, ReadonlyArray<string>>>
  /** Members have names in snake case as well, as protobuf's JSON allows. */
  readonly snakeCase?: boolean
}

/** What the rows say of one place. */
export interface Place {
  scope: ContentScope | undefined
  skip: Skip | undefined
  /** Its items are content parts. */
  parts: { readonly separator: string | undefined } | undefined
  values: boolean
  signed: boolean
  positions: ReadonlyArray<string>
  readonly members: Map<string, Place>
  any: Place | undefined
  items: Place | undefined
  /** Of members with these names, however deep below. */
  below: ReadonlyMap<string, Place> | undefined
  /** What holds for objects with such members, in the order in which they are asked. */
  cases: Array<{ readonly member: string; readonly places: Map<string, Place> }>
}

const place = (): Place => ({
  scope: undefined,
  skip: undefined,
  parts: undefined,
  values: false,
  signed: false,
  positions: [],
  members: new Map(),
  any: undefined,
  items: undefined,
  below: undefined,
  cases: []
})

const isScope = (assignment: Assignment): assignment is ContentScope =>
  (contentScopes as ReadonlyArray<string>).includes(assignment)

/** Steps of a path: a member, the items of a list, or a case. */
const stepsOf = (path: string): ReadonlyArray<string> => path.match(/\[[^\]]*\]|\{[^}]*\}|[^.[{]+/g) ?? []

const snake = (name: string): string => name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)

/** The places that a step leads to: more than one where a name is spelt in two ways or a case names several values. */
const step = (from: Place, text: string, snakeCase: boolean): ReadonlyArray<Place> => {
  if (text === "*") {
    from.any ??= place()
    return [from.any]
  }
  if (text.startsWith("[")) {
    from.items ??= place()
    return text === "[]" ? [from.items] : casesOf(from.items, text)
  }
  if (text.startsWith("{")) return casesOf(from, text)
  return (snakeCase ? [text, snake(text)] : [text]).map((name) => memberOf(from.members, name))
}

const memberOf = (members: Map<string, Place>, name: string): Place => {
  const known = members.get(name) ?? place()
  members.set(name, known)
  return known
}

const casesOf = (from: Place, text: string): ReadonlyArray<Place> => {
  const [member = "", values = ""] = text.slice(1, -1).split("=")
  let found = from.cases.find((known) => known.member === member)
  if (found === undefined) {
    found = { member, places: new Map() }
    from.cases.push(found)
  }
  const { places } = found
  return values.split("|").map((value) => memberOf(places, value))
}

const at = (root: Place, path: string, snakeCase: boolean, visit: (found: Place) => void): void => {
  const [before = "", name] = path.split(".**.")
  let places: ReadonlyArray<Place> = [root]
  for (const text of stepsOf(before)) places = places.flatMap((from) => step(from, text, snakeCase))
  for (const from of places) {
    if (name === undefined) visit(from)
    else {
      const leaf = place()
      visit(leaf)
      from.below = new Map([...(from.below ?? []), [name, leaf]])
    }
  }
}

/** Compiles the rows of one document. */
export const compileAssignments = (assignments: Assignments): Place => {
  const { rows, parts = {}, values = [], signed = [], positions = {}, snakeCase = false } = assignments
  const root = place()
  const on = (path: string, visit: (found: Place) => void) => at(root, path, snakeCase, visit)
  for (const [path, assignment] of Object.entries(rows))
    on(path, (found) => {
      if (isScope(assignment)) found.scope = assignment
      else found.skip = assignment
    })
  const set = (paths: ReadonlyArray<string>, change: (path: string) => Partial<Place>) => {
    for (const path of paths) on(path, (found) => Object.assign(found, change(path)))
  }
  set(Object.keys(parts), (path) => ({ parts: { separator: parts[path] } }))
  set(values, () => ({ values: true }))
  set(signed, () => ({ signed: true }))
  set(Object.keys(positions), (path) => ({ positions: positions[path]! }))
  return complete(root)
}

/**
 * With what holds for every object put into what holds for those of a case. Cases of cases lead to the same places over and
 * over: each is made once, and shared.
 */
const complete = (root: Place): Place => {
  const completed = new Map<Place, Place>()
  const mergers = new Map<Place, Map<Place, Place>>()

  const completeOf = (from: Place): Place => {
    const known = completed.get(from)
    if (known !== undefined) return known
    const whole = completeAnew(from)
    completed.set(from, whole)
    return whole
  }

  const completeAnew = (from: Place): Place => {
    const cases = from.cases.map(({ member, places }) => {
      const others = { ...from, cases: from.cases.filter((other) => other.member !== member) }
      return {
        member,
        places: new Map([...places].map(([value, special]) => [value, completeOf(merged(others, special))]))
      }
    })
    return {
      ...from,
      members: new Map([...from.members].map(([name, found]) => [name, completeOf(found)])),
      any: from.any && completeOf(from.any),
      items: from.items && completeOf(from.items),
      cases
    }
  }

  const either = (usual: Place | undefined, special: Place | undefined): Place | undefined => {
    if (usual === undefined || special === undefined) return usual ?? special
    const known = mergers.get(usual) ?? new Map<Place, Place>()
    const both = known.get(special) ?? merged(usual, special)
    known.set(special, both)
    mergers.set(usual, known)
    return both
  }

  const merged = (usual: Place, special: Place): Place => {
    const members = new Map(usual.members)
    for (const [name, found] of special.members) members.set(name, either(members.get(name), found) ?? found)
    const below = [...(usual.below ?? []), ...(special.below ?? [])]
    return {
      scope: special.scope ?? usual.scope,
      skip: special.skip ?? usual.skip,
      parts: special.parts ?? usual.parts,
      values: special.values || usual.values,
      signed: special.signed || usual.signed,
      positions: [...usual.positions, ...special.positions],
      members,
      any: either(usual.any, special.any),
      items: either(usual.items, special.items),
      below: below.length === 0 ? undefined : new Map(below),
      cases: [...special.cases, ...usual.cases]
    }
  }

  return completeOf(root)
}

/** What holds for an object, which its members decide. */
export const placeOf = (usual: Place, object: { readonly [key: string]: unknown }): Place => {
  let found = usual
  for (let i = 0; i < found.cases.length; i++) {
    const { member, places } = found.cases[i]!
    const value = Object.hasOwn(object, member) ? object[member] : undefined
    if (typeof value !== "string" && typeof value !== "boolean") continue
    const special = places.get(String(value)) ?? ending(places, value)
    if (special === undefined) continue
    found = special
    i = -1
  }
  return found
}

const ending = (places: ReadonlyMap<string, Place>, value: string | boolean): Place | undefined => {
  if (typeof value === "string")
    for (const [key, special] of places) if (key.startsWith("*") && value.endsWith(key.slice(1))) return special
  return undefined
}

const visible = /^[!-~]*$/
const base64 = /^[A-Za-z0-9+/_=\r\n-]*$/
const blank = /[\0- \x7f]/
const scheme = /^[A-Za-z][A-Za-z0-9+.-]*:/

/** Whether a string is what it is left alone for, as far as its looks tell. */
export const looksLike: Readonly<Record<Skip, (text: string) => boolean>> = {
  id: (text) => text.length <= 4096 && visible.test(text),
  name: (text) => text.length <= 256 && visible.test(text),
  choice: (text) => text.length <= 128 && visible.test(text),
  address: (text) => scheme.test(text) && !blank.test(text),
  data: (text) => (text.startsWith("data:") ? !blank.test(text) : base64.test(text)),
  token: (text) => text.length <= 256,
  echo: () => true
}
