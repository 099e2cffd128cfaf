/** Runs what an image would run, on its root file system, as bubblewrap can: read-only, as its user, as process 1. */
import { type ChildProcess, spawn, spawnSync } from "node:child_process"
import { once } from "node:events"
import { readdirSync, readFileSync, readlinkSync } from "node:fs"
import type { Readable } from "node:stream"
import type { Image } from "./containerfile.ts"

export interface Place {
  readonly root: string
  readonly image: Image
  /** Folders of this machine by where they are inside: those that may be written, and others. */
  readonly writable?: Readonly<Record<string, string>>
  readonly readable?: Readonly<Record<string, string>>
  readonly env?: Readonly<Record<string, string>>
}

const bound = (option: string, folders: Readonly<Record<string, string>> = {}) =>
  Object.entries(folders).flatMap(([inside, outside]) => [option, outside, inside])

const options = ({ root, image, writable, readable, env }: Place): ReadonlyArray<string> => {
  const [uid, gid] = image.user.split(":")
  return [
    ...["--unshare-user", "--uid", uid!, "--gid", gid!, "--unshare-pid", "--cap-drop", "ALL", "--die-with-parent"],
    ...["--ro-bind", root, "/", "--proc", "/proc", "--dev", "/dev", "--tmpfs", "/tmp"],
    ...bound("--ro-bind", readable),
    ...bound("--bind", writable),
    "--clearenv",
    ...Object.entries({ ...image.env, ...env }).flatMap(([name, value]) => ["--setenv", name, value])
  ]
}

export interface Running {
  readonly child: ChildProcess
  readonly printed: () => string
  /** The number of its process 1, here. */
  readonly first: number
  /** Every process of it, with its state. */
  readonly processes: () => ReadonlyArray<{ readonly pid: number; readonly state: string }>
  /** Tells process 1 to end, and waits for it. */
  readonly ended: () => Promise<number | null>
}

export const start = async (place: Place, command: ReadonlyArray<string>): Promise<Running> => {
  const child = spawn("bwrap", [...options(place), "--as-pid-1", "--info-fd", "3", "--", ...command], {
    stdio: ["ignore", "pipe", "pipe", "pipe"]
  })
  let printed = ""
  for (const stream of [child.stdout, child.stderr])
    stream?.setEncoding("utf8").on("data", (text: string) => {
      printed += text
    })
  let info = ""
  const told = child.stdio[3] as Readable
  for await (const part of told) info += String(part)
  const first = Number(JSON.parse(info)["child-pid"])
  const namespace = readlinkSync(`/proc/${first}/ns/pid`)
  const processes = () =>
    readdirSync("/proc").flatMap((name) => {
      try {
        if (!/^[0-9]+$/.test(name) || readlinkSync(`/proc/${name}/ns/pid`) !== namespace) return []
        return [{ pid: Number(name), state: /^State:\s+(\S)/m.exec(readFileSync(`/proc/${name}/status`, "utf8"))![1]! }]
      } catch {
        // It has ended meanwhile.
        return []
      }
    })
  const exit = once(child, "exit")
  const ended = async () => {
    if (child.exitCode === null && child.signalCode === null) process.kill(first, "SIGTERM")
    await exit
    return child.exitCode
  }
  return { child, printed: () => printed, first, processes, ended }
}

/** Runs something there to its end. */
export const run = (place: Place, command: ReadonlyArray<string>) => {
  const { status, stdout, stderr } = spawnSync("bwrap", [...options(place), "--", ...command], { encoding: "utf8" })
  return { status, said: `${stdout}${stderr}`.trim() }
}
