/**
 * The gateway's edge as other programs see it: testssl.sh finds nothing above LOW in what is spoken, curl and OpenSSL are served
 * and refused as configured, by name, by certificate, by version, suite and group, and resume sessions where they may.
 *
 * h2spec finds no fault with HTTP/2 that the runtime does not have by itself, h2load gets an answer to each request, and
 * slowhttptest finds it available all the time.
 *
 * `--only testssl`, `clients`, `http2`, `balancers` or `slow` is one of them. testssl.sh takes two minutes, slowhttptest three.
 * h2spec is built with Go.
 */
import { spawn } from "node:child_process"
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { text } from "node:stream/consumers"
import { parseArgs } from "node:util"
import { open } from "../../src/main/library.ts"
import { install } from "../debian.ts"
import { balancers } from "./balancers.ts"
import { h2load, h2spec } from "./http2.ts"
import { slowClients } from "./slow.ts"

/** What became of one question. */
interface Verdict {
  readonly about: string
  /** `undefined`: nothing is wrong. */
  readonly fault: string | undefined
}

const { values: given } = parseArgs({ options: { only: { type: "string", default: "" } } })

interface Ran {
  readonly status: number | null
  readonly said: string
}

/** Runs a program beside the gateway, which is in this process. */
const run = async (command: string, args: ReadonlyArray<string>, input = ""): Promise<Ran> => {
  const child = spawn(command, args, { cwd: folder })
  const ended = new Promise<number | null>((resolve) => child.once("close", resolve))
  child.stdin.on("error", () => {})
  child.stdin.end(input)
  const [out, err] = await Promise.all([text(child.stdout), text(child.stderr)])
  return { status: await ended, said: `${out}${err}` }
}

const folder = mkdtempSync(join(tmpdir(), "headgate-judge-edge-"))
const at = (name: string) => join(folder, name)

const openssl = async (...args: ReadonlyArray<string>): Promise<void> => {
  const { status, said } = await run("openssl", args)
  if (status !== 0) throw new Error(`openssl ${args[0]}: ${said}`)
}

/** An authority, and what it has signed: for 90 days, with an address for a list of what was withdrawn. */
const certificates = async (): Promise<void> => {
  const key = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"]
  await openssl("req", "-x509", ...key, "-keyout", "ca.key", "-out", "ca.pem", "-days", "365", "-subj", "/CN=Test CA")
  for (const [name, purpose, names] of [
    ["server", "serverAuth", "DNS:localhost,IP:127.0.0.1"],
    ["other", "serverAuth", "DNS:other.localhost"],
    ["client", "clientAuth", "DNS:client.example"]
  ] as const) {
    await openssl("req", ...key, "-keyout", `${name}.key`, "-out", `${name}.csr`, "-subj", `/CN=${name}`)
    writeFileSync(
      at("extensions"),
      `subjectAltName=${names}\nextendedKeyUsage=${purpose}\nkeyUsage=critical,digitalSignature\n` +
        "basicConstraints=critical,CA:FALSE\ncrlDistributionPoints=URI:http://localhost/none.crl\n"
    )
    const signed = ["-in", `${name}.csr`, "-CA", "ca.pem", "-CAkey", "ca.key", "-CAcreateserial", "-days", "90"]
    await openssl("x509", "-req", ...signed, "-extfile", "extensions", "-out", `${name}.leaf`)
    writeFileSync(at(`${name}.pem`), readFileSync(at(`${name}.leaf`), "utf8") + readFileSync(at("ca.pem"), "utf8"))
  }
}

const shown = (name: string) => `cert: ${at(`${name}.pem`)}, key: ${at(`${name}.key`)}`

/** What a site of one's own would say with each answer. */
const headers = `
        strict-transport-security: max-age=63072000; includeSubDomains
        content-security-policy: default-src 'none'; frame-ancestors 'none'
        x-content-type-options: nosniff
        x-frame-options: DENY
        referrer-policy: no-referrer
        permissions-policy: geolocation=()`

const configuration = () => `
gateways:
  default:
    port: 8443
    listeners:
    - { name: any, tls: { ${shown("server")} } }
    - { name: other, hostname: other.localhost, tls: { ${shown("other")} } }
  plain: { port: 8080 }
  clients: { port: 8444, tls: { ${shown("server")}, root: ${at("ca.pem")} } }
  narrow:
    port: 8445
    tls:
      cert: ${at("server.pem")}
      key: ${at("server.key")}
      maxTLSVersion: TLS_V1_2
      cipherSuites: [TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384]
      keyExchangeGroups: [P-256]
routes:
- gateways: [default, narrow, plain]
  policies:
    responseHeaderModifier:
      set:${headers}
    directResponse: { status: 200, body: "hello\\n" }
- gateways: clients
  policies:
    directResponse: { status: 200, bodyExpression: source.subjectCn }
`

/** A question to a client: what it is told to do, and what has to come of it. */
interface Question {
  readonly about: string
  readonly command: readonly [string, ...ReadonlyArray<string>]
  readonly input?: string
  readonly says: RegExp
}

const clients = (ports: { readonly [configured: number]: number }): ReadonlyArray<Question> => {
  const plain = `http://localhost:${ports[8080]}/`
  const url = (configured: number, host = "localhost") => `https://${host}:${ports[configured]}/`
  const curl = (...args: ReadonlyArray<string>): Question["command"] => [
    "curl",
    "--silent",
    "--show-error",
    "--cacert",
    at("ca.pem"),
    "--write-out",
    " %{http_code} %{http_version}",
    ...args
  ]
  const client = (configured: number, ...args: ReadonlyArray<string>): Question["command"] => [
    "openssl",
    "s_client",
    "-connect",
    `127.0.0.1:${ports[configured]}`,
    "-CAfile",
    at("ca.pem"),
    "-servername",
    "localhost",
    ...args
  ]
  const asCurl = ["--cert", at("client.pem"), "--key", at("client.key")]
  const refused = /alert|errno|no peer certificate available/
  const request = "GET / HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n"
  return [
    { about: "curl", command: curl(url(8443)), says: /^hello\n 200 2$/ },
    { about: "curl by TLS 1.2", command: curl("--tls-max", "1.2", url(8443)), says: /^hello\n 200 2$/ },
    { about: "curl by TLS 1.3", command: curl("--tlsv1.3", url(8443)), says: /^hello\n 200 2$/ },
    { about: "curl that wants HTTP/1.1", command: curl("--http1.1", url(8443)), says: /^hello\n 200 1\.1$/ },
    {
      about: "curl that knows of HTTP/2 without TLS",
      command: curl("--http2-prior-knowledge", plain),
      says: /^hello\n 200 2$/
    },
    { about: "curl that offers an upgrade to it", command: curl("--http2", plain), says: /^hello\n 200 1\.1$/ },
    { about: "curl for another name", command: curl(url(8443, "other.localhost")), says: /^hello\n 200 2$/ },
    {
      about: "curl for the host of another listener",
      command: curl("-H", "host: other.localhost", url(8443)),
      says: /^misdirected request 421 2$/
    },
    { about: "curl with a certificate", command: curl(...asCurl, url(8444)), says: /^client 200 2$/ },
    {
      about: "curl with a certificate by TLS 1.2",
      command: curl(...asCurl, "--tls-max", "1.2", url(8444)),
      says: /^client 200 2$/
    },
    { about: "curl without one", command: curl(url(8444)), says: /curl: \((?:35|55|56)\)/ },
    {
      about: "OpenSSL is shown the chain",
      command: client(8443, "-verify_return_error", "-brief"),
      says: /Verification: OK/
    },
    { about: "OpenSSL by TLS 1.1", command: client(8443, "-tls1_1", "-cipher", "ALL@SECLEVEL=0"), says: refused },
    { about: "OpenSSL with CBC", command: client(8443, "-tls1_2", "-cipher", "ECDHE-ECDSA-AES128-SHA"), says: refused },
    {
      about: "OpenSSL with another protocol",
      command: client(8443, "-alpn", "h3"),
      says: /alert no application protocol|alert number 120/
    },
    {
      about: "OpenSSL agrees on HTTP/1.1",
      command: client(8443, "-alpn", "http/1.1"),
      says: /ALPN protocol: http\/1\.1/
    },
    {
      about: "OpenSSL agrees on HTTP/2, which comes first",
      command: client(8443, "-alpn", "http/1.1,h2"),
      says: /ALPN protocol: h2/
    },
    {
      about: "OpenSSL may not renegotiate",
      command: client(8443, "-tls1_2", "-legacy_renegotiation"),
      input: "R\n",
      says: /no renegotiation|RENEGOTIATING[\s\S]*(?:alert|error)/i
    },
    { about: "OpenSSL resumes", command: client(8443, "-tls1_2", "-reconnect"), says: /Reused, TLSv1\.2/ },
    {
      about: "the one suite that is configured",
      command: client(8445),
      says: /New, TLSv1\.2, Cipher is ECDHE-ECDSA-AES256-GCM-SHA384/
    },
    {
      about: "another suite than that",
      command: client(8445, "-cipher", "ECDHE-ECDSA-AES128-GCM-SHA256"),
      says: refused
    },
    { about: "a version above the highest", command: client(8445, "-tls1_3"), says: refused },
    {
      about: "the one group that is configured",
      command: client(8445, "-groups", "P-256"),
      says: /Server Temp Key: ECDH, (?:P-256|prime256v1)/
    },
    { about: "another group than that", command: client(8445, "-groups", "X25519"), says: refused },
    { about: "OpenSSL sends a request", command: client(8443, "-quiet"), input: request, says: /200 OK[\s\S]*hello/ }
  ]
}

const asked = async ({ about, command: [program, ...args], input, says }: Question): Promise<Verdict> => {
  const { said } = await run("timeout", ["20", program, ...args], input ?? "")
  return { about, fault: says.test(said) ? undefined : said.trim().slice(0, 400) }
}

interface Finding {
  readonly id: string
  readonly severity: string
  readonly finding: string
}

/** Whatever it says of the certificate is about ours, which is for this run alone. */
const aboutCertificate = /^(?:cert|DNS_CAA|OCSP)/
const severe = new Set(["MEDIUM", "HIGH", "CRITICAL", "FATAL"])

const testssl = async (port: number): Promise<ReadonlyArray<Verdict>> => {
  const report = at("report.json")
  const flags = ["--quiet", "--color", "0", "--warnings", "batch", "--add-ca", at("ca.pem"), "--jsonfile", report]
  const { said } = await run("testssl", [...flags, `https://localhost:${port}/`])
  if (!existsSync(report)) return [{ about: "testssl.sh", fault: said.slice(-400) }]
  const findings: ReadonlyArray<Finding> = JSON.parse(readFileSync(report, "utf8"))
  if (findings.length < 50) return [{ about: "testssl.sh", fault: `it has looked at ${findings.length} things alone` }]
  for (const { id, severity, finding } of findings)
    if (severity === "LOW" || (aboutCertificate.test(id) && severe.has(severity)))
      console.log(`listed: ${severity} ${id}: ${finding}`)
  return findings
    .filter(({ id }) => !aboutCertificate.test(id))
    .map(({ id, severity, finding }) => ({
      about: `testssl.sh: ${id}`,
      fault: severe.has(severity) ? `${severity}: ${finding}` : undefined
    }))
}

install("testssl.sh", "curl", "openssl", "nghttp2-client", "slowhttptest")
const verdicts: Array<Verdict> = []
try {
  await certificates()
  const gateway = await open(configuration(), { ephemeral: true, host: "127.0.0.1" })
  const ports = Object.fromEntries([8080, 8443, 8444, 8445].map((port) => [port, gateway.port(port)!]))
  const wants = (what: string) => given.only === "" || given.only === what
  if (wants("clients")) for (const question of clients(ports)) verdicts.push(await asked(question))
  if (wants("http2")) {
    const secure = { certificate: readFileSync(at("server.pem"), "utf8"), key: readFileSync(at("server.key"), "utf8") }
    verdicts.push(...(await h2spec({ plain: ports[8080]!, secure: ports[8443]! }, secure, run)))
    for (const url of [`https://localhost:${ports[8443]}/`, `http://localhost:${ports[8080]}/`])
      verdicts.push(await h2load(url, run))
  }
  if (wants("slow")) verdicts.push(...(await slowClients(run, shown("server"))))
  if (wants("testssl")) verdicts.push(...(await testssl(ports[8443]!)))
  await gateway.close()
  if (wants("balancers")) verdicts.push(...(await balancers(folder)))
} finally {
  rmSync(folder, { recursive: true, force: true })
}
const faulty = verdicts.filter(({ fault }) => fault !== undefined)
for (const { about, fault } of faulty) console.log(`FAILED ${about}: ${fault}`)
console.log(`${verdicts.length - faulty.length} passed, ${faulty.length} failed`)
process.exit(faulty.length === 0 ? 0 : 1)
