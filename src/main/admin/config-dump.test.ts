import { assert, describe, it } from "@effect/vitest"
import { check } from "../../check/check.ts"
import { configDump } from "./config-dump.ts"

describe("the configuration that is shown", () => {
  it("hides what a child process is given, but not the names of its variables", () => {
    const { config, hidden } = check({
      name: "config.yaml",
      text: "mcp: { port: 3000, targets: [{ name: a, stdio: { cmd: serve, args: [--key=hidden], env: { KEY: hidden } } }] }",
      env: {}
    })
    const shown = JSON.stringify(configDump(config!, hidden))
    assert.notInclude(shown, "hidden")
    assert.include(shown, '"args":["<redacted>"],"env":{"KEY":"<redacted>"}')
  })

  it("hides credentials in addresses", () => {
    const { config, hidden } = check({
      name: "config.yaml",
      text: "gateways: { default: { port: 80 } }\nroutes: [{ policies: { jwtAuth: { issuer: a, jwks: { url: 'https://a.example/v1?api_key=s3cret' } } } }]",
      env: {}
    })
    const shown = JSON.stringify(configDump(config!, hidden))
    assert.notInclude(shown, "s3cret")
    assert.include(shown, "a.example/v1?api_key=<redacted>")
  })

  it("shows a key of the file as it is written there, and not with what a forgotten blank drew into it", () => {
    const { config, hidden } = check({
      name: "config.yaml",
      text: "llm: { port: 3000, policies: { apiKey: { keys: [{ key: a, metadata: { key:$SECRET, note:s3cret, team: b } }] } }, models: [] }",
      env: { SECRET: "s3cret" }
    })
    const shown = JSON.stringify(configDump(config!, hidden))
    assert.notInclude(shown, "s3cret")
    assert.include(shown, '"metadata":{"key:$SECRET":null,"note:…":null,"team":"b"}')
  })
})
