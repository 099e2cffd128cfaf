/** What the normal form of a path costs: `node bench/paths.ts` prints nanoseconds for paths from plain to odd. */
import { isOrdinary, readTarget } from "../src/http/path.ts"

const paths: Readonly<Record<string, string>> = {
  short: "/v1/models",
  plain: "/v1/chat/completions",
  long: "/api/v2/tenants/0f8fad5b-d9cb-469f-a165-70867728950e/projects/headgate/builds/latest?x=1",
  encoded: "/files/my%20report%20%C3%A9t%C3%A9.pdf",
  dots: "/files/a/../b/./c//d",
  arn: "/model/arn%3Aaws%3Abedrock%3Aeu-west-1%3A123456789012%3Ainference-profile%2Feu.x-v1%3A0/converse"
}

const rounds = 20
const each = 200_000
for (const [name, path] of Object.entries(paths)) {
  // What the framing does; a new string each time, as it comes from a parser.
  const samples: Array<number> = []
  let kept = 0
  for (let round = 0; round < rounds; round++) {
    const began = process.cpuUsage()
    for (let i = 0; i < each; i++) if (!isOrdinary(path)) kept += "path" in readTarget(path) ? 1 : 0
    samples.push((process.cpuUsage(began).user * 1000) / each)
  }
  samples.sort((a, b) => a - b)
  console.log(
    `${name.padEnd(8)} ${samples[rounds >> 1]!.toFixed(0).padStart(6)} ns   ${path.length} characters, ${kept === 0 ? "ordinary" : "odd"}`
  )
}
