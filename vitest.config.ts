import { defineConfig } from "vitest/config"

export default defineConfig({
  test: {
    include: ["{bench,layers,spec,src,stages,test}/**/*.test.ts"],
    exclude: ["**/node_modules/**", "test/outside/**/node_modules/**"],
    testTimeout: 120_000,
    hookTimeout: 120_000,
    // A focused test would hide the others from CI.
    allowOnly: false
  }
})
