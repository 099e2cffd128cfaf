import { assert, describe, it } from "@effect/vitest"
import { check } from "./check.ts"

const warningsOf = (text: string) =>
  check({ name: "config.yaml", text: `${text}\nroutes: []`, env: {} })
    .problems.filter(({ code }) => code === "unavailable")
    .map(({ severity, line, path, message }) => `${severity} ${line} ${path} ${message}`)

describe("settings that nothing applies", () => {
  it("are told, with their places", () => {
    assert.deepStrictEqual(
      warningsOf(
        "config:\n  workerThreads: 4\n  logging:\n    level: info\n    filter: 'true'\n  dns: { edns0: true, lookupFamily: V4Only }\n  metrics: { remove: [a], fields: {} }"
      ),
      [
        "warning 2 config.workerThreads has no effect yet",
        "warning 5 config.logging.filter has no effect yet",
        "warning 6 config.dns.edns0 has no effect yet",
        "warning 7 config.metrics.fields has no effect yet"
      ]
    )
  })

  it("are only those that were written", () => {
    assert.deepStrictEqual(warningsOf("config: { adminAddr: 'off', logging: { format: json } }"), [])
    assert.deepStrictEqual(warningsOf("config: { backend: { connectTimeout: 1s }, metrics: { remove: [a] } }"), [])
    assert.deepStrictEqual(warningsOf(""), [])
  })

  it("are not those that say what holds anyway", () => {
    assert.deepStrictEqual(warningsOf("config: { workerThreads: 1, histograms: classic }"), [])
    assert.deepStrictEqual(warningsOf("config: { histograms: native }"), [
      "warning 1 config.histograms has no effect yet"
    ])
  })
})
