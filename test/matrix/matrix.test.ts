/**
 * Every client format against every kind of provider, through a whole gateway: official libraries on the one side, a farm of providers that
 * this project did not write on the other. A client must read what it reads of its own provider, and the provider must hear what was asked.
 * The matrix is printed at the end.
 */
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import { type OpenHeadgate, open } from "../../src/main/library.ts"
import { type Answer, type ClientName, clients, failureOf } from "./clients.ts"
import { differing, documented, expectedOf, keepsImages, reasoned, steady } from "./differences.ts"
import { type Farm, startFarm } from "./farm.ts"
import { heardAs, toHear } from "./heard.ts"
import { asking, breaks, image, refusals, type Scenario, scenarios, used } from "./scenarios.ts"
import { type Service, type ServiceName, services } from "./services.ts"
import { type Cell, type Row, rows } from "./table.ts"

const configuration = (farm: Farm) =>
  JSON.stringify({
    llm: {
      port: 4000,
      models: rows.map(({ name, provider, params, base = "" }) => ({
        name,
        provider,
        params: { ...params, baseUrl: `${farm.url(name)}${base}`, apiKey: "sk-provider" }
      }))
    }
  })

/** Straight to aimock, which plays the provider of every library. */
const nobody = "direct"

const served = (provider: string, path: string): boolean =>
  provider === nobody ||
  rows.some(({ name, paths }) => name === provider && Object.values(paths).some((each) => [each].flat().includes(path)))

let farm: Farm
let gateway: OpenHeadgate
let address: string
beforeAll(async () => {
  farm = await startFarm(served)
  gateway = await open(configuration(farm), { ephemeral: true, host: "127.0.0.1" })
  address = `http://127.0.0.1:${gateway.port(4000)}`
})

const passed = new Map<string, string>()
const keyOf = (row: Row, column: string) => `${row.name} ${column}`

/** Prints even when cells have failed; what is not in `passed` has. */
afterAll(async () => {
  await gateway.close()
  await farm.stop()
  const columns = [...Object.keys(clients), ...Object.keys(services)]
  const line = (cells: ReadonlyArray<string>) =>
    cells
      .map((cell) => cell.padEnd(26))
      .join("")
      .trimEnd()
  const lines = rows.map((row) =>
    line([row.name, ...columns.map((column) => passed.get(keyOf(row, column)) ?? "FAILED")])
  )
  process.stdout.write(`\n${[line(["", ...columns]), ...lines].join("\n")}\n`)
})

const outcomeOf = <A>(asked: Promise<A>) =>
  asked.then(
    (answer) => ({ answer }),
    (error: unknown) => ({ failure: failureOf(error) })
  )

/** What the libraries read of aimock itself; asked once. */
const natively = new Map<string, Promise<Answer>>()
const native = (client: ClientName, streamed: boolean, scenario: Scenario): Promise<unknown> => {
  const key = `${client} ${streamed} ${scenario.name}`
  const { ask, base } = clients[client]
  const known = natively.get(key) ?? ask(farm.url(nobody) + base, "gemini-2.5-pro", scenario.question, streamed)
  natively.set(key, known)
  return known.then(({ typed }) => steady(typed))
}

/** The format that the provider is asked in. */
const spoken = (client: ClientName, cell: Exclude<Cell, "refused" | "foreign">) => (cell === "native" ? client : cell)

const pathOf = ({ paths }: Row, format: ReturnType<typeof spoken>, streamed: boolean): string | undefined =>
  [paths[format] ?? []].flat().at(streamed ? -1 : 0)

const conversation = async (
  row: Row,
  client: ClientName,
  cell: Exclude<Cell, "refused" | "foreign">,
  streamed: boolean
) => {
  const { ask, base } = clients[client]
  const upstream = spoken(client, cell)
  for (const scenario of scenarios) {
    const about = `${scenario.name}, ${streamed ? "streamed" : "plain"}`
    const before = await native(client, streamed, scenario)
    const { said, used: counted, typed } = await ask(address + base, row.name, scenario.question, streamed)
    assert.deepStrictEqual(said, reasoned(client, upstream, scenario.says), about)
    assert.deepStrictEqual(counted, used, about)
    const different = differing(expectedOf(client, upstream, before), steady(typed)).filter(
      (each) => !documented(client, upstream).has(each)
    )
    assert.deepStrictEqual(different, [], `${about}: the answer is that of the native call`)
    const sent = farm.sent().at(-1)
    assert.strictEqual(sent?.provider, row.name, about)
    assert.strictEqual(sent?.path, pathOf(row, upstream, streamed), about)
    const headers = JSON.stringify(sent?.headers)
    assert.include(headers, "sk-provider", about)
    assert.notInclude(headers, "sk-client", about)
    assert.deepStrictEqual(heardAs(farm.heard()), toHear(scenario.question), about)
    const shown = JSON.stringify(scenario.question).includes(image) && keepsImages(client, upstream)
    assert.strictEqual(sent?.body.includes(image), shown, about)
  }
  for (const { name, prompt, status, message } of refusals) {
    const about = `${name}, ${streamed ? "streamed" : "plain"}`
    const expected = await outcomeOf(ask(farm.url(nobody) + base, "gemini-2.5-pro", asking(prompt), streamed))
    const outcome = await outcomeOf(ask(address + base, row.name, asking(prompt), streamed))
    if (!("failure" in outcome && "failure" in expected)) return assert.fail(`${about}: no error`)
    assert.strictEqual(outcome.failure.kind, expected.failure.kind, about)
    assert.strictEqual(outcome.failure.status, status, about)
    assert.include(outcome.failure.message, message, about)
  }
  if (!streamed) return
  const broken = async ({ name, prompt }: (typeof breaks)[number]) => {
    const outcome = await outcomeOf(ask(address + base, row.name, asking(prompt), true))
    if (!("failure" in outcome)) return assert.fail(`${name}: ${JSON.stringify(outcome.answer.said)} looks whole`)
    return outcome.failure
  }
  const [cut, sorry] = breaks
  // The answer has begun: no status tells of it.
  assert.include([undefined, 200], (await broken(cut)).status, cut.name)
  // An exception frame of Bedrock's is told in the gateway's words.
  const words = upstream === "converse" && client !== "converse" ? "Stream processing error" : sorry.message
  assert.include((await broken(sorry)).message, words, sorry.name)
}

const unanswerable = async (asked: Promise<unknown>, status: number, words: string | undefined, about: string) => {
  const outcome = await outcomeOf(asked)
  if (!("failure" in outcome)) return assert.fail(`${about}: answered`)
  assert.strictEqual(outcome.failure.status, status, about)
  if (words !== undefined) assert.include(outcome.failure.message, words, about)
}

const answers = async (row: Row, client: ClientName, cell: Cell): Promise<string> => {
  const { ask, base } = clients[client]
  const { question } = scenarios[0]!
  switch (cell) {
    case "refused": {
      const before = farm.sent().length
      for (const streamed of [false, true])
        await unanswerable(
          ask(address + base, row.name, question, streamed),
          400,
          `failed to process LLM request: unsupported conversion: ${client} to `,
          row.name
        )
      assert.lengthOf(farm.sent(), before)
      return "not expressible"
    }
    case "foreign":
      // The provider answers for itself that it has no such API.
      for (const streamed of [false, true])
        await unanswerable(ask(address + base, row.name, question, streamed), 404, undefined, row.name)
      return "not expressible"
    default:
      await conversation(row, client, cell, false)
      await conversation(row, client, cell, true)
      return cell === "native" ? "passed" : `passed as ${cell}`
  }
}

const serve = async (row: Row, service: ServiceName): Promise<string> => {
  const cell = row.services[service]
  const { ask, answer } = services[service]
  switch (cell) {
    case "refused":
      await unanswerable(
        ask(address, row.name),
        400,
        "failed to process LLM request: unsupported conversion: ",
        row.name
      )
      return "not expressible"
    case "local":
      // Three for the answer's start, four for the message, and its text.
      assert.strictEqual(await ask(address, row.name), 9)
      return "passed by ourselves"
    default: {
      assert.deepStrictEqual(await ask(address, row.name), answer)
      const { [service]: path = row.paths.embeddings } = row.paths
      assert.strictEqual(farm.sent().at(-1)?.path, path)
      return "passed"
    }
  }
}

for (const row of rows)
  describe(row.name, () => {
    for (const [client, { library }] of Object.entries(clients) as ReadonlyArray<
      [ClientName, (typeof clients)[ClientName]]
    >)
      if (row.cells !== undefined) {
        const cell = row.cells[client]
        it(`${library}: ${cell}`, async () => {
          passed.set(keyOf(row, client), await answers(row, client, cell))
        })
      } else passed.set(keyOf(row, client), "")
    for (const [service, { library }] of Object.entries(services) as ReadonlyArray<[ServiceName, Service]>)
      it(`${library}: ${row.services[service]}`, async () => {
        passed.set(keyOf(row, service), await serve(row, service))
      })
  })
