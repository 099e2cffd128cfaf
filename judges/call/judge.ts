/**
 * What the proxy calls, as other programs see it: POST requests to servers that close idle connections, of which no more fail than over
 * undici; and TLS with nginx and OpenSSL: whom it trusts, what it shows, what it resumes, and certificates that are replaced under load;
 * backends behind squid.
 *
 * `--only idle`, `--only tls` or `--only tunnel` is one of them; `--count` says how many POSTs are sent by each client, 1,000,000 for example. Default
 * 250,000: some minutes.
 */
import { spawnSync } from "node:child_process"
import { parseArgs } from "node:util"
import { install } from "../debian.ts"
import { judgeIdle } from "./idle.ts"
import { judgeTls } from "./tls.ts"
import { judgeTunnel } from "./tunnel.ts"

/** What became of one question. */
export interface Verdict {
  readonly about: string
  /** `undefined`: nothing is wrong. */
  readonly fault: string | undefined
}

const { values: given } = parseArgs({
  options: { count: { type: "string", default: "250000" }, only: { type: "string", default: "" } }
})

install("nginx-light", "openssl", "squid")
console.log(spawnSync("nginx", ["-v"], { encoding: "utf8" }).stderr.trim())
console.log(spawnSync("openssl", ["version"], { encoding: "utf8" }).stdout.trim())

const wanted = (part: string): boolean => given.only === "" || given.only === part

const verdicts = [
  ...(wanted("idle") ? await judgeIdle(Number(given.count)) : []),
  ...(wanted("tls") ? await judgeTls() : []),
  ...(wanted("tunnel") ? await judgeTunnel() : [])
]
const faulty = verdicts.filter(({ fault }) => fault !== undefined)
for (const { about, fault } of faulty) console.log(`FAILED ${about}: ${fault}`)
console.log(`${verdicts.length - faulty.length} passed, ${faulty.length} failed`)
process.exit(faulty.length === 0 ? 0 : 1)
