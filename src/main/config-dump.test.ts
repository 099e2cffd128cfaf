import { assert, describe, it } from "@effect/vitest"
import { check } from "./check.ts"
import { configDump } from "./config-dump.ts"

describe("the configuration that is shown", () => {
  it("hides what a child process is given, but not the names of its variables", () => {
    const { config } = check({
      name: "config.yaml",
      text: "mcp: { port: 3000, targets: [{ name: a, stdio: { cmd: serve, args: [--key=hidden], env: { KEY: hidden } } }] }",
      env: {}
    })
    const shown = JSON.stringify(configDump(config!))
    assert.notInclude(shown, "hidden")
    assert.include(shown, '"args":["<redacted>"],"env":{"KEY":"<redacted>"}')
  })
})
