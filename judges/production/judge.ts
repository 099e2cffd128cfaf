/**
 * What the guide to production leaves to a balancer and a service manager: two proxies behind HAProxy as the guide configures it, of
 * which one after the other is drained and replaced while clients ask, and the service as systemd reads it.
 */
import { type ChildProcess, spawn, spawnSync } from "node:child_process"
import { once } from "node:events"
import { copyFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { Agent, get } from "node:https"
import { tmpdir } from "node:os"
import { join, resolve } from "node:path"
import { freePorts } from "../../test/free-ports.ts"
import { stepsOf } from "../../test/guides/steps.ts"
import { install } from "../debian.ts"
import { until } from "../package/terminal.ts"

const root = resolve(import.meta.dirname, "..", "..")
const page = "docs/guides/production.md"
const home = mkdtempSync(join(tmpdir(), "headgate-production-"))
const steps = stepsOf(page, readFileSync(join(root, page), "utf8"))
const mine = steps.filter(({ use }) => use._tag === "Judge" && use.name === "production")

let passed = 0
const failures: Array<string> = []
const holds = (what: string, held: boolean, detail = "") => {
  if (held) passed++
  else failures.push(detail === "" ? what : `${what}: ${detail}`)
}
const textOf = (language: string): string => mine.find((step) => step.language === language)!.text
holds(`${page} has what is judged here`, mine.map(({ language }) => language).join() === "ini,text")

install("haproxy", "openssl", "systemd")

// The service, of the package: the unit that we have, with what the guide says beside it. Without that, its program is not there.
const unit = join(home, "headgate.service")
copyFileSync(join(root, "packaging", "headgate.service"), unit)
mkdirSync(`${unit}.d`)
writeFileSync(join(`${unit}.d`, "npm.conf"), textOf("ini"))
const verified = spawnSync("systemd-analyze", ["verify", "--man=no", unit], { encoding: "utf8" })
holds("systemd finds nothing wrong with the unit", verified.status === 0 && verified.stderr === "", verified.stderr)

// The balancer.
const [front, one, two, readyOne, readyTwo] = (await freePorts(5)) as [number, number, number, number, number]
const configuration = steps.find(({ use }) => use._tag === "File" && use.path === "config.yaml")!.text

const start = async (port: number, readiness: number): Promise<ChildProcess> => {
  const text = configuration
    .replace("localhost:15021", `localhost:${readiness}`)
    .replace(/statsAddr: .*/, "statsAddr: off\n  adminAddr: off")
    .replace("port: 3000", `port: ${port}, address: localhost`)
  const proxy = spawn(process.execPath, [join(root, "bin", "headgate.mjs"), "-c", text], { stdio: "ignore" })
  const ready = () =>
    fetch(`http://127.0.0.1:${readiness}/healthz/ready`).then(
      ({ status }) => status === 200,
      () => false
    )
  holds(`a proxy is ready on ${port}`, await until(ready))
  return proxy
}

const key = join(home, "site.pem")
spawnSync("openssl", [
  ...["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "1"],
  ...["-subj", "/CN=localhost", "-keyout", join(home, "key.pem"), "-out", join(home, "certificate.pem")]
])
writeFileSync(key, ["certificate.pem", "key.pem"].map((file) => readFileSync(join(home, file), "utf8")).join(""))
const balancer = join(home, "haproxy.cfg")
writeFileSync(
  balancer,
  textOf("text")
    .replace(":443 ssl crt /etc/haproxy/site.pem", `127.0.0.1:${front} ssl crt ${key}`)
    .replace(" port 15021", "")
    .replace("10.0.0.1:3000", `127.0.0.1:${one} port ${readyOne}`)
    .replace("10.0.0.2:3000", `127.0.0.1:${two} port ${readyTwo}`)
)
const checked = spawnSync("haproxy", ["-c", "-f", balancer], { encoding: "utf8" })
holds("HAProxy takes the file", checked.status === 0, checked.stderr)

const agent = new Agent({ keepAlive: true, rejectUnauthorized: false })
const ask = () =>
  new Promise<string>((told) => {
    get({ port: front, host: "127.0.0.1", agent }, (response) => {
      response.resume().on("end", () => told(String(response.statusCode)))
    }).on("error", ({ message }) => told(message))
  })

const proxies = [await start(one, readyOne), await start(two, readyTwo)]
const haproxy = spawn("haproxy", ["-db", "-f", balancer], { stdio: "ignore" })
try {
  holds("clients reach a proxy through it", await until(async () => (await ask()) === "200"))
  const answers = new Map<string, number>()
  let asking = true
  const clients = Array.from({ length: 4 }, async () => {
    while (asking) {
      const answer = await ask()
      answers.set(answer, (answers.get(answer) ?? 0) + 1)
      await new Promise((pause) => setTimeout(pause, 5))
    }
  })
  for (const [index, port, readiness] of [
    [0, one, readyOne],
    [1, two, readyTwo]
  ] as const) {
    const old = proxies[index]!
    const ended = once(old, "exit")
    old.kill("SIGTERM")
    holds(`the proxy on ${port} drains and ends`, (await ended)[0] === 0)
    proxies[index] = await start(port, readiness)
    // Until the balancer has asked for it twice.
    await new Promise((pause) => setTimeout(pause, 2000))
  }
  asking = false
  await Promise.all(clients)
  const counted = [...answers].map(([answer, count]) => `${count} × ${answer}`).join(", ")
  holds(
    "while both are replaced, every request is answered with 200",
    answers.size === 1 && answers.has("200"),
    counted
  )
  console.log(`while both were replaced: ${counted}`)
} finally {
  agent.destroy()
  for (const child of [haproxy, ...proxies]) child.kill("SIGKILL")
  rmSync(home, { recursive: true, force: true })
}

for (const failure of failures) console.error(`FAILED ${failure}`)
console.log(`${passed} passed, ${failures.length} failed`)
process.exit(failures.length === 0 ? 0 : 1)
