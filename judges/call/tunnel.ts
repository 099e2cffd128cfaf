/** Backends behind squid: in absolute form and through tunnels, for those whom it knows and for strangers, plain and with TLS inside. */
import { chmodSync, readFileSync, writeFileSync } from "node:fs"
import { createServer } from "node:http"
import { createServer as createSecureServer } from "node:https"
import type { Server } from "node:net"
import { join } from "node:path"
import { Effect, type Scope } from "effect"
import { start } from "../../src/main/library.ts"
import { send } from "../../test/client.ts"
import { portOf } from "../../test/http/edge.ts"
import { nowhere } from "../../test/origin.ts"
import type { Verdict } from "./judge.ts"
import { startServer, temporaryFolder } from "./servers.ts"

const fixtures = join(import.meta.dirname, "../../test/http/fixtures")
const certificate = join(fixtures, "localhost.cert.pem")

const listening = (server: Server): Effect.Effect<number, never, Scope.Scope> =>
  Effect.acquireRelease(
    Effect.promise(
      () => new Promise<number>((done) => server.listen(0, "127.0.0.1", () => done(portOf(server.address()))))
    ),
    () => Effect.sync(() => server.close())
  )

/** Squid on two ports: at the second one it asks who it is. */
const startSquid = Effect.gen(function* () {
  const folder = yield* temporaryFolder
  chmodSync(folder, 0o777)
  const [open, guarded] = [yield* nowhere, yield* nowhere]
  const check = join(folder, "check")
  // One line for each question: `user password`.
  writeFileSync(check, "#!/bin/sh\nwhile read who; do [ \"$who\" = 'gate word' ] && echo OK || echo ERR; done\n")
  chmodSync(check, 0o755)
  const config = join(folder, "squid.conf")
  writeFileSync(
    config,
    `
http_port 127.0.0.1:${open} name=open
http_port 127.0.0.1:${guarded} name=guarded
auth_param basic program ${check}
acl guarded myportname guarded
acl known proxy_auth REQUIRED
http_access deny guarded !known
http_access allow all
cache deny all
pid_filename none
access_log stdio:${folder}/access.log
cache_log ${folder}/cache.log
coredump_dir ${folder}
shutdown_lifetime 0 seconds
`
  )
  yield* startServer("squid", ["--foreground", "-f", config], [open, guarded])
  return { open, guarded, log: () => readFileSync(join(folder, "access.log"), "utf8") }
})

export const judgeTunnel = (): Promise<ReadonlyArray<Verdict>> =>
  Effect.runPromise(
    Effect.scoped(
      Effect.gen(function* () {
        const { open, guarded, log } = yield* startSquid
        const plain = yield* listening(createServer((_, response) => response.end("plain")))
        const key = readFileSync(join(fixtures, "localhost.key.pem"))
        const secure = yield* listening(
          createSecureServer({ key, cert: readFileSync(certificate) }, (_, response) => {
            response.end("secure")
          })
        )
        const credential = Buffer.from("gate:word").toString("base64")
        const known = `policies: { backendAuth: { key: { value: ${credential}, location: { header: { name: authorization, prefix: "Basic " } } } } }`
        const verdicts: Array<Verdict> = []
        for (const [port, policies, expected] of [
          [open, "", 200],
          [guarded, known, 200],
          [guarded, "", 503]
        ] as const)
          for (const mode of ["auto", "connect"])
            for (const [backend, tls] of [
              [`127.0.0.1:${plain}`, ""],
              [`localhost:${secure}`, `, backendTLS: { root: "${certificate}" }`]
            ]) {
              const tunnel = `{ proxy: { host: "127.0.0.1:${port}" }, mode: ${mode}, ${policies} }`
              const text = `gateways: { default: { port: 8080 } }\nroutes: [{ policies: { backendTunnel: ${tunnel}${tls} }, backends: [{ host: "${backend}" }] }]`
              const { status, body } = yield* Effect.scoped(
                Effect.flatMap(start(text, { ephemeral: true, host: "127.0.0.1" }), (gateway) =>
                  Effect.promise(() => send(gateway.port(8080)!))
                )
              )
              const said =
                expected === 200
                  ? tls === ""
                    ? "plain"
                    : "secure"
                  : "upstream call failed: tunnel: the proxy requires authentication"
              verdicts.push({
                about: `squid, ${mode}, ${tls === "" ? "plain" : "TLS"}, ${policies === "" ? "nobody" : "known"}, expecting ${expected}`,
                fault: status === expected && body === said ? undefined : `${status} ${body}`
              })
            }
        // A tunnel is in the log when it is over.
        yield* Effect.sleep(1_000)
        const tunnels = log().match(/ CONNECT /g)?.length ?? 0
        const forms = log().match(/ GET http:/g)?.length ?? 0
        verdicts.push({
          about: "squid saw tunnels and requests in absolute form",
          fault: tunnels === 9 && forms === 3 ? undefined : `${tunnels} tunnels, ${forms} requests`
        })
        return verdicts
      })
    )
  )
