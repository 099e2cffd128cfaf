/** Where a server listens, and why it cannot. */
import { lstat, unlink } from "node:fs/promises"
import { connect, type ListenOptions, type Server } from "node:net"
import { dirname } from "node:path"
import { Data, Effect } from "effect"
import { contained, nobody } from "../../src/services/contained.ts"

export type Address =
  /** `host` is an IP address; `::` takes IPv4 too. Port 0 lets the system choose. */
  | { readonly _tag: "Tcp"; readonly host: string; readonly port: number }
  /** 127.0.0.1 and, where the machine has it, ::1. */
  | { readonly _tag: "Localhost"; readonly port: number }
  /** A stale socket file in its place is removed; any other file is an error. */
  | { readonly _tag: "Unix"; readonly path: string }

/** The address of a port at an IP address, at `localhost`, or of `unix:/path`, which stands without a port. */
export const addressOf = (host: string, port: number): Address =>
  host.startsWith("unix:")
    ? { _tag: "Unix", path: host.slice("unix:".length) }
    : host === "localhost"
      ? { _tag: "Localhost", port }
      : { _tag: "Tcp", host, port }

/** The IP address that stands for every address of the machine. */
export const everywhere = (withIpv6: boolean): string => (withIpv6 ? "::" : "0.0.0.0")

/** A server cannot listen where its configuration says. */
export class BindFailed extends Data.TaggedError("BindFailed")<{
  readonly address: string
  /** The configuration that names the address, as `gateways.default.port`. */
  readonly setting: string
  /** The error of the system, as `EADDRINUSE`. */
  readonly code: string
}> {
  override get message() {
    return `cannot listen on ${this.address}: ${reasons[this.code] ?? this.code}; change ${this.setting}`
  }
}

const reasons: Readonly<Record<string, string>> = {
  EADDRINUSE: "another process uses this address",
  EACCES: "this process may not use it",
  EADDRNOTAVAIL: "this machine has no such address",
  EAFNOSUPPORT: "this machine has no such address",
  EINVAL: "it is no address",
  ENOENT: "its folder does not exist",
  ENOTSOCK: "there is a file that is no socket",
  ENOTSUP: "Windows has no sockets in folders; listen on an IP address or localhost",
  ERR_SOCKET_BAD_PORT: "there is no such port"
}

export const show = (address: Address): string => {
  switch (address._tag) {
    case "Unix":
      return `unix:${address.path}`
    case "Localhost":
      return `localhost:${address.port}`
    case "Tcp":
      return address.host.includes(":") ? `[${address.host}]:${address.port}` : `${address.host}:${address.port}`
  }
}

const codeOf = (error: unknown): string =>
  error instanceof Error && "code" in error && typeof error.code === "string" ? error.code : String(error)

/**
 * Node looks up what it is to listen on, an address as well, with the pattern that `familyOf` does without. Nothing to look
 * up is all addresses, too; those of IPv4 where the machine has no IPv6.
 */
const withoutLookup = ({ host, ...options }: ListenOptions): ListenOptions =>
  host === undefined || host === everywhere(true) ? options : { host, ...options }

/** Binds a server that was not bound before. */
export const bind = (server: Server, options: ListenOptions): Effect.Effect<void, { readonly code: string }> =>
  Effect.callback((resume) => {
    const failed = contained(nobody, (error: Error) => resume(Effect.fail({ code: codeOf(error) })))
    const listening = contained(nobody, () => {
      server.off("error", failed)
      resume(Effect.void)
    })
    server.once("error", failed)
    try {
      server.listen(withoutLookup(options), listening)
    } catch (error) {
      resume(Effect.fail({ code: codeOf(error) }))
    }
  })

/** Makes room for a socket: removes one that nobody serves any more, and refuses to touch anything else. */
export const clearSocketFile = (path: string): Effect.Effect<void, { readonly code: string }> =>
  Effect.tryPromise({
    try: async () => {
      // What the system says of it there is that it may not be used.
      if (process.platform === "win32") throw Object.assign(new Error(), { code: "ENOTSUP" })
      // A missing folder would be told as a missing permission by the system call that binds.
      await lstat(dirname(path))
      const found = await lstat(path).catch((error: unknown) => {
        if (codeOf(error) === "ENOENT") return undefined
        throw error
      })
      if (found === undefined) return
      if (!found.isSocket()) throw Object.assign(new Error(), { code: "ENOTSOCK" })
      if (await served(path)) throw Object.assign(new Error(), { code: "EADDRINUSE" })
      await unlink(path)
    },
    catch: (error) => ({ code: codeOf(error) })
  })

/** Whether somebody accepts connections there. */
const served = (path: string): Promise<boolean> =>
  new Promise((resolve) => {
    const accepted = contained(nobody, () => {
      socket.destroy()
      resolve(true)
    })
    const socket = connect(path, accepted)
    const refused = contained(nobody, () => resolve(false))
    socket.on("error", refused)
  })
