/** Puts up what a case of the doctor needs: files, servers, variables, and facts about the machine. */
import { chmodSync, mkdirSync, writeFileSync } from "node:fs"
import { createServer, type Server as HttpServer } from "node:http"
import { createServer as createTlsServer } from "node:https"
import { createServer as createTcpServer, type Server } from "node:net"
import { join } from "node:path"
import { Effect, type Scope } from "effect"
import type { Machine } from "../../src/main/doctor/machine.ts"
import { nowhere } from "../origin.ts"
import { type Certificate, certificate } from "./certificate.ts"

export interface Case {
  readonly title: string
  readonly env?: Readonly<Record<string, string>>
  readonly unset?: ReadonlyArray<string>
  readonly machine?: {
    readonly runtime?: string
    readonly openFiles?: number
    readonly memory?: number
    readonly heap?: number
    readonly ahead?: number
  }
  /** Files by name: their text, or what of a certificate they hold. */
  readonly files?: Readonly<Record<string, string>>
  readonly folders?: ReadonlyArray<string>
  /** Permissions of files and folders. */
  readonly modes?: Readonly<Record<string, string>>
  /** Servers by the name of their port. */
  readonly servers?: Readonly<
    Record<string, "http" | "late" | "early" | "silent" | "dateless" | `tls ${CertificateName}` | "socket">
  >
  /** `{NAME}` is the port of a server, a free port (P, Q), `{folder}`, or a day (`{past}`, `{future}`). Without one, no file is looked at. */
  readonly config?: string
  readonly finds?: ReadonlyArray<string>
}

const kinds = {
  good: () => certificate(["localhost", "127.0.0.1"], [-1, 365]),
  expired: () => certificate(["localhost", "127.0.0.1"], [-30, -3]),
  early: () => certificate(["localhost", "127.0.0.1"], [3, 30]),
  soon: () => certificate(["localhost", "127.0.0.1"], [-30, 3]),
  foreign: () => certificate(["other.example"], [-1, 365]),
  second: () => certificate(["localhost", "127.0.0.1"], [-1, 365])
}

type CertificateName = keyof typeof kinds

const made = new Map<string, Certificate>()
const certificateOf = (kind: string): Certificate => {
  const found = made.get(kind) ?? kinds[kind as CertificateName]()
  made.set(kind, found)
  return found
}

const respond = (skew: number | undefined) =>
  ((_, response) => {
    if (skew === undefined) response.sendDate = false
    else response.setHeader("date", new Date(Date.now() + skew).toUTCString())
    response.end("fine")
  }) satisfies Parameters<typeof createServer>[1]

const serverOf = (kind: string): Server | HttpServer => {
  if (kind.startsWith("tls ")) return createTlsServer(certificateOf(kind.slice(4)), respond(0))
  if (kind === "silent") return createTcpServer((socket) => socket.resume())
  return createServer(respond({ http: 0, socket: 0, late: -600_000, early: 600_000 }[kind]))
}

const listening = (server: Server | HttpServer, where: number | string) =>
  Effect.acquireRelease(
    Effect.callback<Server | HttpServer>((resume) => {
      const options = typeof where === "string" ? { path: where } : { port: where, host: "127.0.0.1" }
      server.listen(options, () => resume(Effect.succeed(server)))
    }),
    (server) =>
      Effect.callback<void>((resume) => {
        if ("closeAllConnections" in server) server.closeAllConnections()
        server.close(() => resume(Effect.void))
      })
  )

export interface Surroundings {
  readonly machine: Machine
  readonly config: string | undefined
  /** Puts the names of ports and the folder into a text. */
  readonly fill: (text: string) => string
}

export const surroundings = (folder: string, each: Case): Effect.Effect<Surroundings, never, Scope.Scope> =>
  Effect.gen(function* () {
    const names = new Map<string, string>([["folder", folder]])
    for (const name of ["P", "Q"]) names.set(name, String(yield* nowhere))
    // Three days ago, and in three.
    for (const [name, days] of [
      ["past", -3],
      ["future", 3]
    ] as const)
      names.set(name, new Date(Date.now() + days * 86_400_000).toISOString().slice(0, 10))
    const fill = (text: string) => text.replaceAll(/\{(\w+)\}/g, (whole, name: string) => names.get(name) ?? whole)
    for (const [name, kind] of Object.entries(each.servers ?? {})) {
      const server = yield* listening(serverOf(kind), kind === "socket" ? join(folder, name) : 0)
      const address = server.address()
      names.set(name, typeof address === "object" && address !== null ? String(address.port) : join(folder, name))
    }
    for (const name of each.folders ?? []) mkdirSync(join(folder, name), { recursive: true })
    for (const [name, content] of Object.entries(each.files ?? {})) {
      const [, part, kind] = /^(cert|key) (\w+)$/.exec(content) ?? []
      writeFileSync(join(folder, name), part === undefined ? content : certificateOf(kind!)[part as keyof Certificate])
    }
    for (const [name, mode] of Object.entries(each.modes ?? {})) chmodSync(join(folder, name), Number.parseInt(mode, 8))
    const { runtime = "26.0.0", openFiles, memory, heap = 2 ** 32, ahead = 0 } = each.machine ?? {}
    const off = { ADMIN_ADDR: "off", STATS_ADDR: "off", READINESS_ADDR: "off" }
    const given = Object.entries(each.env ?? {}).map(([name, value]) => [name, fill(value)])
    const env: Record<string, string> = {
      PATH: process.env["PATH"]!,
      HOME: folder,
      ...off,
      ...Object.fromEntries(given)
    }
    for (const name of each.unset ?? []) delete env[name]
    return {
      machine: { runtime, env, openFiles, memory, heap, now: () => Date.now() + ahead },
      config: each.config === undefined ? undefined : fill(each.config),
      fill
    }
  })
