// Looks for the `effect` that the exports of this package share with the program around them, before they are loaded: the
// runtime's own words for one that is missing or another version would not say what to do.
import { createRequire } from "node:module"

const wanted = /^4\.1\./
const advice = "The exports of headgate need effect 4.1: run npm install effect@4.1 beside headgate"

const found = (() => {
  try {
    return createRequire(import.meta.url)("effect/package.json").version
  } catch {
    throw new Error(`${advice}. None was found.`)
  }
})()
if (!wanted.test(found)) throw new Error(`${advice}. Found: effect ${found}.`)
