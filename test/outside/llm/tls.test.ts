/** Providers behind TLS: whom the gateway trusts, and by which name. */
import { readFileSync } from "node:fs"
import { createServer, type Server } from "node:https"
import { join } from "node:path"
import type { TLSSocket } from "node:tls"
import { assert, describe, it } from "@effect/vitest"
import { afterAll, beforeAll } from "vitest"
import { completion } from "./provider.ts"
import { type Headgate, startHeadgate } from "./running.ts"

const fixtures = join(import.meta.dirname, "../../http/fixtures")
const cert = join(fixtures, "localhost.cert.pem")
const key = join(fixtures, "localhost.key.pem")
const usage = { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 }
const certificate = { cert: readFileSync(cert), key: readFileSync(key) }
let server: Server
let gate: Headgate
/** The names of clients, by their certificates. */
const clients: Array<string | undefined> = []

beforeAll(async () => {
  server = createServer(
    { ...certificate, ca: certificate.cert, requestCert: true, rejectUnauthorized: false },
    (request, response) => {
      clients.push((request.socket as TLSSocket).getPeerCertificate().subject?.CN?.toString())
      response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(completion("fine", usage)))
    }
  )
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
  const { port: to } = server.address() as { port: number }
  const model = (name: string, tls: string) =>
    `    - { name: ${name}, provider: openai, params: { hostOverride: "127.0.0.1:${to}", pathPrefix: /v1 }, tls: ${tls} }`
  gate = await startHeadgate(
    (port) => `
llm:
  port: ${port}
  models:
${model("system", "{}")}
${model("root", `{ root: ${cert} }`)}
${model("named", `{ root: ${cert}, hostname: localhost }`)}
${model("misnamed", `{ root: ${cert}, hostname: provider.example }`)}
${model("anyname", `{ root: ${cert}, hostname: provider.example, insecureHost: true }`)}
${model("stranger", "{ insecureHost: true }")}
${model("anybody", "{ insecure: true }")}
${model("known", `{ root: ${cert}, cert: ${cert}, key: ${key} }`)}
`
  )
})

afterAll(async () => {
  await gate.stop()
  server.closeAllConnections()
  await new Promise((resolve) => server.close(resolve))
})

const ask = async (model: string) => {
  const response = await fetch(`${gate.url}/v1/chat/completions`, {
    method: "POST",
    body: JSON.stringify({ model, messages: [{ role: "user", content: "hello" }] })
  })
  return `${response.status} ${(await response.text()).slice(0, 30)}`
}

describe("TLS towards a provider", () => {
  it.each([
    ["system", /^503 upstream call failed: tls/],
    ["root", /^200/],
    ["named", /^200/],
    ["misnamed", /^503 upstream call failed: tls/],
    ["anyname", /^200/],
    ["stranger", /^503 upstream call failed: tls/],
    ["anybody", /^200/]
  ] as const)("%s", async (model, expected) => {
    assert.match(await ask(model), expected)
  })

  it("shows the certificate that is configured, and no other", async () => {
    await ask("root")
    assert.isUndefined(clients.at(-1))
    await ask("known")
    assert.strictEqual(clients.at(-1), "localhost")
  })
})
