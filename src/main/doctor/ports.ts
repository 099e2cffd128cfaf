/** The addresses on which a configuration listens: whether they can be had. */
import { createServer, type ListenOptions } from "node:net"
import { Effect } from "effect"
import { parseAdminAddress } from "../../../layers/admin-address.ts"
import {
  type Address,
  addressOf,
  BindFailed,
  bind,
  clearSocketFile,
  everywhere,
  show
} from "../../../layers/http/address.ts"
import { formatPath } from "../../../spec/config/path.ts"
import { isLoopback } from "../../../spec/standalone/address.ts"
import type { Normalised } from "../../routing/normalised.ts"
import { askAdmin } from "../admin/client.ts"
import { type Ailment, error } from "./ailment.ts"

interface Wanted {
  readonly address: Address
  /** Where the port is written, and where the host or the path of a socket is. */
  readonly setting: string
  readonly host: string
}

const wanted = ({ settings, binds }: Normalised): ReadonlyArray<Wanted> => {
  const host = everywhere(settings.enableIpv6)
  const management = {
    adminAddr: settings.adminAddr,
    statsAddr: settings.statsAddr ?? show(addressOf(host, 15_020)),
    readinessAddr: settings.readinessAddr ?? show(addressOf(host, 15_021))
  }
  return [
    ...binds
      .filter(({ mode }) => mode !== "internal")
      .map(({ address, port, path }) => ({
        address: addressOf(address ?? host, port),
        setting: formatPath([...path, "port"]),
        host: formatPath([...path, "address"])
      })),
    ...Object.entries(management).flatMap(([setting, text]) => {
      const address = parseAdminAddress(text)
      return address === undefined || typeof address === "string"
        ? []
        : [{ address, setting: `config.${setting}`, host: `config.${setting}` }]
    })
  ]
}

/** The code of the system with which it cannot be had. */
const fault = (address: Address): Effect.Effect<string | undefined> => {
  const place =
    address._tag === "Unix"
      ? Effect.as(clearSocketFile(address.path), { path: address.path })
      : Effect.succeed({ port: address.port, host: address._tag === "Localhost" ? "127.0.0.1" : address.host })
  return Effect.acquireUseRelease(
    Effect.sync(() => createServer()),
    (server) =>
      Effect.match(
        Effect.flatMap(place, (options: ListenOptions) => bind(server, options)),
        {
          onFailure: ({ code }) => code,
          onSuccess: () => undefined
        }
      ),
    (server) =>
      Effect.callback<void>((resume) => {
        server.close(() => resume(Effect.void))
      })
  )
}

export const portAilments = (config: Normalised): Effect.Effect<ReadonlyArray<Ailment>> =>
  Effect.gen(function* () {
    const found = yield* Effect.forEach(wanted(config), (each) =>
      Effect.map(fault(each.address), (code) => (code === undefined ? [] : [{ ...each, code }]))
    )
    const refused = found.flat()
    if (refused.length === 0) return []
    const running = yield* servedByUs(config)
    return refused
      .filter(({ code }) => !(running && code === "EADDRINUSE"))
      .map(({ address, setting, host, code }) => {
        const isPort = address._tag !== "Unix" && (code === "EADDRINUSE" || code === "EACCES")
        const { message } = new BindFailed({ address: show(address), setting: isPort ? setting : host, code })
        const [what, remedy] = message.split("; ") as [string, string]
        return error(
          "ports",
          what,
          code === "EACCES"
            ? `${remedy} to one above 1023, or grant the process CAP_NET_BIND_SERVICE`
            : code === "EADDRINUSE"
              ? `${remedy}, or end that process (ss -ltnp tells which)`
              : remedy
        )
      })
  })

/** Whether the ports are taken because a proxy serves this configuration already: its admin interface says which ports it has. */
const servedByUs = ({ settings, binds }: Normalised): Effect.Effect<boolean> => {
  const address = parseAdminAddress(settings.adminAddr)
  if (address === undefined || typeof address === "string") return Effect.succeed(false)
  if (address._tag === "Tcp" && !isLoopback(address.host)) return Effect.succeed(false)
  return askAdmin(address, "GET", "/config_dump").pipe(
    Effect.timeout(2_000),
    Effect.match({
      onFailure: () => false,
      onSuccess: (dump) => binds.every(({ key }) => dump.includes(JSON.stringify(key)))
    })
  )
}
