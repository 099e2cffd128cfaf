/** TLS towards nginx and OpenSSL, which say what they have seen: through a whole proxy, with certificates made for the run. */
import { spawnSync } from "node:child_process"
import { copyFileSync, renameSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { setTimeout as sleep } from "node:timers/promises"
import { Effect } from "effect"
import { start } from "../../src/main/library.ts"
import { send } from "../../test/client.ts"
import { nowhere } from "../../test/origin.ts"
import type { Verdict } from "./judge.ts"
import { startNginx, startServer, temporaryFolder } from "./servers.ts"

/** Two authorities, and what they have signed: RSA by one, ECDSA by the other. */
const certificates = (folder: string) => {
  const openssl = (...args: ReadonlyArray<string>) => {
    const { status, stderr } = spawnSync("openssl", args, { cwd: folder, encoding: "utf8" })
    if (status !== 0) throw new Error(`openssl ${args[0]}: ${stderr}`)
  }
  const authority = (name: string, ...key: ReadonlyArray<string>) =>
    openssl(
      "req",
      "-x509",
      "-newkey",
      ...key,
      "-nodes",
      "-keyout",
      `${name}.key`,
      "-out",
      `${name}.pem`,
      "-days",
      "9",
      "-subj",
      `/CN=${name}`
    )
  const issue = (name: string, by: string, days: number, names: string) => {
    openssl(
      "req",
      "-newkey",
      "rsa:2048",
      "-nodes",
      "-keyout",
      `${name}.key`,
      "-out",
      `${name}.csr`,
      "-subj",
      `/CN=${name}`
    )
    writeFileSync(join(folder, "extensions"), `subjectAltName=${names}\n`)
    openssl(
      "x509",
      "-req",
      "-in",
      `${name}.csr`,
      "-CA",
      `${by}.pem`,
      "-CAkey",
      `${by}.key`,
      "-CAcreateserial",
      "-days",
      `${days}`,
      "-extfile",
      "extensions",
      "-out",
      `${name}.pem`
    )
  }
  authority("one", "rsa:2048")
  authority("other", "ec", "-pkeyopt", "ec_paramgen_curve:P-256")
  issue("server", "one", 9, "DNS:localhost,DNS:*.a.example,IP:127.0.0.1,URI:spiffe://a.example/server")
  issue("expired", "one", -1, "DNS:localhost")
  issue("first", "one", 9, "DNS:client.example")
  issue("second", "one", 9, "DNS:client.example")
  issue("stranger", "other", 9, "DNS:client.example")
}

/** A question: what is called in which way, and what has to be answered. */
interface Question {
  readonly about: string
  readonly port: number
  readonly host?: string
  readonly policy: string
  /** One call for each. */
  readonly answers: ReadonlyArray<RegExp>
}

const refused = (code: string) => new RegExp(`^503 upstream call failed: tls: .*${code}`)

export const judgeTls = (): Promise<ReadonlyArray<Verdict>> =>
  Effect.runPromise(
    Effect.scoped(
      Effect.gen(function* () {
        const folder = yield* temporaryFolder
        certificates(folder)
        const at = (name: string) => join(folder, name)
        const { any, two, three, expired, clients, plain, www, verifying, group, protocol, edge } = yield* Effect.all({
          any: nowhere,
          two: nowhere,
          three: nowhere,
          expired: nowhere,
          clients: nowhere,
          plain: nowhere,
          www: nowhere,
          verifying: nowhere,
          group: nowhere,
          protocol: nowhere,
          edge: nowhere
        })

        const shown = (name: string) =>
          `ssl_certificate ${at(`${name}.pem`)}; ssl_certificate_key ${at(`${name}.key`)};`
        const said = "$ssl_protocol $ssl_server_name $ssl_session_reused $ssl_client_s_dn"
        const server = (port: number, certificate: string, more: string) =>
          `server { listen 127.0.0.1:${port} ssl; ${shown(certificate)} ${more} location / { return 200 "${said}"; } }`
        const wantsClients = `ssl_client_certificate ${at("one.pem")}; ssl_verify_client on;`
        // Each request on a connection of its own: only handshakes matter here.
        yield* startNginx(
          `keepalive_timeout 0; ssl_session_cache shared:all:1m; ssl_session_tickets on;
          ${server(any, "server", "ssl_protocols TLSv1.2 TLSv1.3;")}
          ${server(two, "server", "ssl_protocols TLSv1.2;")}
          ${server(three, "server", "ssl_protocols TLSv1.3;")}
          ${server(expired, "expired", "")}
          ${server(clients, "server", wantsClients)}
          server { listen 127.0.0.1:${plain}; location / { return 200 "plain"; } }`,
          [any, two, three, expired, clients, plain]
        )
        const sServer = (port: number, ...more: ReadonlyArray<string>) =>
          startServer(
            "openssl",
            [
              "s_server",
              "-accept",
              `127.0.0.1:${port}`,
              "-cert",
              at("server.pem"),
              "-key",
              at("server.key"),
              "-www",
              "-quiet",
              ...more
            ],
            [port]
          )
        yield* sServer(www)
        yield* sServer(verifying, "-Verify", "2", "-verify_return_error", "-CAfile", at("one.pem"))
        yield* sServer(group, "-tls1_3", "-groups", "P-384")
        yield* sServer(protocol, "-alpn", "h2")

        const root = `root: ${at("one.pem")}`
        const as = (name: string) => `cert: ${at(`${name}.pem`)}, key: ${at(`${name}.key`)}`
        copyFileSync(at("one.pem"), at("same.pem"))
        const name = "ERR_TLS_CERT_ALTNAME_INVALID"
        const questions: ReadonlyArray<Question> = [
          { about: "nginx, its authority", port: any, policy: `{ ${root} }`, answers: [/^200 TLSv1\.3 localhost \. /] },
          { about: "nginx with TLS 1.2", port: two, policy: `{ ${root} }`, answers: [/^200 TLSv1\.2 localhost \. /] },
          { about: "nginx with TLS 1.3", port: three, policy: `{ ${root} }`, answers: [/^200 TLSv1\.3 localhost \. /] },
          {
            about: "the trust of the system",
            port: any,
            policy: "{}",
            answers: [refused("UNABLE_TO_VERIFY_LEAF_SIGNATURE")]
          },
          {
            about: "a wrong root",
            port: any,
            policy: `{ root: ${at("other.pem")} }`,
            answers: [refused("UNABLE_TO_VERIFY_LEAF_SIGNATURE")]
          },
          { about: "a wrong name", port: any, policy: `{ ${root}, hostname: b.example }`, answers: [refused(name)] },
          {
            about: "another name that fits",
            port: any,
            policy: `{ ${root}, hostname: b.a.example }`,
            answers: [/^200 \S+ b\.a\.example /]
          },
          {
            about: "an address",
            host: "127.0.0.1",
            port: any,
            policy: `{ ${root} }`,
            answers: [/^200 TLSv1\.3 {2}\. /]
          },
          {
            about: "an alternative name",
            port: any,
            policy: `{ ${root}, hostname: c.example, subjectAltNames: ["spiffe://a.example/server"] }`,
            answers: [/^200 \S+ c\.example /]
          },
          {
            about: "no alternative name",
            port: any,
            policy: `{ ${root}, subjectAltNames: [server, "spiffe://a.example"] }`,
            answers: [refused(name)]
          },
          { about: "what has expired", port: expired, policy: `{ ${root} }`, answers: [refused("CERT_HAS_EXPIRED")] },
          { about: "what has expired, unverified", port: expired, policy: "{ insecure: true }", answers: [/^200 /] },
          {
            about: "a server without TLS",
            port: plain,
            policy: `{ ${root} }`,
            answers: [refused("ERR_SSL_(?:WRONG_VERSION_NUMBER|PACKET_LENGTH_TOO_LONG)")]
          },
          {
            about: "nginx that wants a certificate, and gets none",
            port: clients,
            policy: `{ ${root} }`,
            answers: [/^400 .*No required SSL certificate/s]
          },
          {
            about: "nginx that wants a certificate",
            port: clients,
            policy: `{ ${root}, ${as("first")} }`,
            answers: [/^200 .*CN=first/]
          },
          {
            about: "nginx that does not know the certificate",
            port: clients,
            policy: `{ ${root}, ${as("stranger")} }`,
            answers: [/^400 .*SSL certificate error/s]
          },
          {
            about: "sessions of TLS 1.2 are resumed",
            port: two,
            policy: `{ ${root}, alpn: [http/1.1] }`,
            answers: [/^200 \S+ \S+ \. /, /^200 \S+ \S+ r /]
          },
          {
            about: "sessions of TLS 1.3 are resumed",
            port: three,
            policy: `{ ${root}, alpn: [http/1.1] }`,
            answers: [/^200 \S+ \S+ \. /, /^200 \S+ \S+ r /]
          },
          {
            about: "a session is not resumed under other roots, which do not know the server",
            port: three,
            policy: `{ root: ${at("other.pem")}, alpn: [http/1.1] }`,
            answers: [refused("UNABLE_TO_VERIFY_LEAF_SIGNATURE")]
          },
          {
            about: "a session is not resumed under roots of another file",
            port: three,
            policy: `{ root: ${at("other-and-one.pem")}, alpn: [http/1.1] }`,
            answers: [/^200 \S+ \S+ \. /]
          },
          {
            about: "a session of a name is not resumed for another one",
            port: three,
            policy: `{ ${root}, hostname: d.a.example, alpn: [http/1.1] }`,
            answers: [/^200 \S+ \S+ \. /]
          },
          {
            about: "a session that nobody verified is not resumed by who verifies",
            port: expired,
            policy: `{ ${root}, alpn: [http/1.1] }`,
            answers: [refused("CERT_HAS_EXPIRED")]
          },
          { about: "OpenSSL, its authority", port: www, policy: `{ ${root} }`, answers: [/^200 .*s_server/s] },
          {
            about: "OpenSSL, a wrong root",
            port: www,
            policy: `{ root: ${at("other.pem")} }`,
            answers: [refused("UNABLE_TO_VERIFY_LEAF_SIGNATURE")]
          },
          {
            about: "OpenSSL that wants a certificate",
            port: verifying,
            policy: `{ ${root}, ${as("first")} }`,
            answers: [/^200 .*s_server/s]
          },
          {
            about: "OpenSSL that wants a certificate, and gets none",
            port: verifying,
            policy: `{ ${root} }`,
            answers: [refused("CERTIFICATE_REQUIRED")]
          },
          {
            about: "OpenSSL that does not know the certificate",
            port: verifying,
            policy: `{ ${root}, ${as("stranger")} }`,
            answers: [/^503 upstream call failed: (?:tls: .*ALERT|reset)/]
          },
          {
            about: "a group that both know",
            port: group,
            policy: `{ ${root}, keyExchangeGroups: [X25519, P-384] }`,
            answers: [/^200 .*s_server/s]
          },
          {
            about: "no group that both know",
            port: group,
            policy: `{ ${root}, keyExchangeGroups: [X25519] }`,
            answers: [/^503 upstream call failed: (?:tls: .*HANDSHAKE_FAILURE|reset)/]
          },
          {
            about: "no protocol that both know",
            port: protocol,
            policy: `{ ${root} }`,
            answers: [refused("NO_APPLICATION_PROTOCOL")]
          }
        ]
        const other = spawnSync("cat", ["other.pem", "one.pem"], { cwd: folder, encoding: "utf8" }).stdout
        writeFileSync(at("other-and-one.pem"), other)
        for (const file of ["current.pem", "current.key"]) copyFileSync(at(file.replace("current", "first")), at(file))
        const routes = questions.map(
          ({ host = "localhost", port, policy }, index) =>
            `- { name: r${index}, matches: [{ path: { exact: /${index} } }], backends: [{ host: "${host}:${port}", policies: { backendTLS: ${policy} } }] }`
        )
        const gateway = yield* start(
          `gateways: { default: { port: ${edge} } }
routes:
${routes.join("\n")}
- name: rotated
  matches: [{ path: { exact: /rotated } }]
  backends: [{ host: "localhost:${clients}", policies: { backendTLS: { ${root}, cert: ${at("current.pem")}, key: ${at("current.key")} } } }]
`,
          { host: "127.0.0.1", env: {} }
        )
        const get = async (path: string) => {
          const { status, body } = await send(gateway.port(edge)!, { path })
          return `${status} ${body}`
        }
        const verdicts: Array<Verdict> = []
        for (const [index, { about, answers }] of questions.entries()) {
          let fault: string | undefined
          for (const answer of answers) {
            const answered = yield* Effect.promise(() => get(`/${index}`))
            if (!answer.test(answered)) fault ??= `${answer} is not ${JSON.stringify(answered.slice(0, 200))}`
            // Tickets of TLS 1.3 come after the handshake.
            yield* Effect.promise(() => sleep(20))
          }
          verdicts.push({ about: `TLS: ${about}`, fault })
        }
        verdicts.push(yield* Effect.promise(() => rotated(folder, get)))
        return verdicts
      })
    )
  )

/** The certificate of the client is replaced again and again while calls are made: each of them is answered, and both were shown. */
const rotated = async (folder: string, get: (path: string) => Promise<string>): Promise<Verdict> => {
  const put = (from: string, extension: string) => {
    copyFileSync(join(folder, `${from}.${extension}`), join(folder, "new"))
    renameSync(join(folder, "new"), join(folder, `current.${extension}`))
  }
  const answers = new Map<string, number>()
  const until = performance.now() + 12_000
  const lane = async () => {
    while (performance.now() < until) {
      const answered = await get("/rotated")
      const kind = /^200 .*CN=(\w+)/.exec(answered)?.[1] ?? answered.slice(0, 200)
      answers.set(kind, (answers.get(kind) ?? 0) + 1)
    }
  }
  const rotation = async () => {
    for (let i = 0; performance.now() < until - 1_000; i++) {
      await sleep(1_500)
      // Key and certificate are two files: for a moment they do not belong together.
      for (const extension of ["pem", "key"]) put(i % 2 === 0 ? "second" : "first", extension)
    }
  }
  await Promise.all([rotation(), ...Array.from({ length: 8 }, lane)])
  const others = [...answers].filter(([kind]) => kind !== "first" && kind !== "second")
  const counts = [...answers].map(([kind, many]) => `${many} × ${kind}`).join(", ")
  console.log(`calls while certificates were replaced: ${counts}`)
  const isWhole = others.length === 0 && answers.has("first") && answers.has("second")
  return { about: "TLS: certificates that are replaced under load", fault: isWhole ? undefined : counts }
}
