/** The processes of a measurement: started on free ports, asked over IPC, and ended with it. */
import { type ChildProcess, fork, spawn } from "node:child_process"
import { mkdtemp, open, readdir, readFile, rm, writeFile } from "node:fs/promises"
import { connect } from "node:net"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { freePort } from "../test/free-ports.ts"
import type { Job, Result } from "./load.ts"
import type { Pauses, Usage } from "./probe.ts"
import type { OriginAnswer, Peer } from "./scenarios.ts"

const here = import.meta.dirname

/** Milliseconds until something accepts on a port, asked again and again. */
const listening = async (port: number, child: ChildProcess, patience = 60_000): Promise<number> => {
  const start = performance.now()
  while (performance.now() - start < patience) {
    if (child.exitCode !== null) throw new Error(`${child.spawnargs.join(" ")} ended with ${child.exitCode}`)
    const accepted = await new Promise<boolean>((resolve) => {
      const socket = connect(port, "127.0.0.1", () => {
        socket.destroy()
        resolve(true)
      })
      socket.on("error", () => resolve(false))
    })
    if (accepted) return performance.now() - start
    await new Promise((resolve) => setTimeout(resolve, 2))
  }
  throw new Error(`nothing listens on port ${port} after ${patience} ms`)
}

const ended = (child: ChildProcess): Promise<void> =>
  new Promise((resolve) => {
    if (child.exitCode !== null || child.signalCode !== null) resolve()
    else child.once("exit", () => resolve())
  })

const stop = async (child: ChildProcess): Promise<void> => {
  child.kill("SIGTERM")
  const timer = setTimeout(() => child.kill("SIGKILL"), 3000)
  await ended(child)
  clearTimeout(timer)
}

/** A message to a child, and its answer. */
const ask = <A>(child: ChildProcess, message: Job | "usage" | "pauses"): Promise<A> =>
  new Promise((resolve, reject) => {
    const gone = () => reject(new Error(`${child.spawnargs.join(" ")} ended`))
    child.once("exit", gone)
    child.once("message", (answer) => {
      child.off("exit", gone)
      resolve(answer as A)
    })
    child.send(message)
  })

/** What a program that is not node has used, as the system counts it. */
const usageOf = async ({ pid }: ChildProcess): Promise<Usage> => {
  const tasks = await readdir(`/proc/${pid}/task`)
  const times = await Promise.all(tasks.map((task) => readFile(`/proc/${pid}/task/${task}/schedstat`, "utf8")))
  const status = await readFile(`/proc/${pid}/status`, "utf8")
  const bytes = (name: string) => 1024 * Number(new RegExp(`^${name}:\\s*([0-9]+) kB`, "m").exec(status)?.[1])
  const nanoseconds = times.reduce((sum, time) => sum + Number(time.split(" ")[0]), 0)
  return { cpu: nanoseconds / 1000, rss: bytes("VmRSS"), peak: bytes("VmHWM") }
}

export interface ProxyProcess {
  readonly port: number
  /** Milliseconds from the start of the process until it accepted. */
  readonly startup: number
  readonly usage: () => Promise<Usage>
  readonly pauses: () => Promise<Pauses>
  /** Writes one of its files anew. */
  readonly write: (name: string, text: string) => Promise<void>
  readonly stop: () => Promise<void>
}

/** Where the access log goes: into a file, as those who need it have it, or nowhere, and then no line is made. */
export const accessLogs = ["file", "null"] as const
export type AccessLog = (typeof accessLogs)[number]

export const accessLog = (given: string): AccessLog => {
  const found = accessLogs.find((each) => each === given)
  if (found === undefined) throw new Error(`--log is one of ${accessLogs.join(", ")}`)
  return found
}

/** What a row says so that no line is made; rows of another checkout say the same. */
const silenced = ", logging: {level: request=warn}"

export const startProxy = async (scenario: Peer, upstream: number, log: AccessLog = "file"): Promise<ProxyProcess> => {
  const ports = { proxy: await freePort(), upstream }
  const folder = await mkdtemp(join(tmpdir(), "headgate-bench-"))
  const write = (name: string, text: string) =>
    writeFile(join(folder, name), log === "file" ? text.replace(silenced, "") : text)
  const files = Object.entries(scenario.files?.(ports) ?? {})
  for (const [name, text] of files) await write(name, text)
  const { command, args } = scenario.proxy(ports, folder)
  const logFile = await open(join(folder, "log"), "a")
  const child = spawn(command, [...args], {
    stdio: ["ignore", log === "file" ? logFile.fd : "ignore", "inherit", "ipc"],
    env: {
      ...process.env,
      NODE_ENV: "production",
      NODE_OPTIONS: `${process.env["NODE_OPTIONS"] ?? ""} --import=${join(here, "probe.ts")}`
    }
  })
  const startup = await listening(ports.proxy, child)
  return {
    port: ports.proxy,
    startup,
    usage: () => (command === process.execPath ? ask<Usage>(child, "usage") : usageOf(child)),
    pauses: () => ask<Pauses>(child, "pauses"),
    write,
    stop: async () => {
      await stop(child)
      const { size } = await logFile.stat()
      await logFile.close()
      if (log === "file" && files.length > 0 && size < 10_000) throw new Error(`${scenario.name}: nothing was logged`)
      await rm(folder, { recursive: true, force: true })
    }
  }
}

export interface Load {
  readonly run: (job: Job) => Promise<Result>
  readonly stop: () => Promise<void>
}

export const startLoad = (): Load => {
  const child = fork(join(here, "load.ts"))
  return { run: (job) => ask<Result>(child, job), stop: () => stop(child) }
}

export interface Origin {
  readonly name: string
  readonly port: number
  readonly stop: () => Promise<void>
}

/** A backend that answers like models; its streams have that many pieces of text. */
export const startModels = async (pieces: number): Promise<Origin> => {
  const port = await freePort()
  const child = spawn(process.execPath, [join(here, "model-origin.ts"), String(port), String(pieces)], {
    stdio: "inherit"
  })
  await listening(port, child)
  return { name: "models", port, stop: () => stop(child) }
}

/** A backend of connections that are passed on. */
export const startBytesOrigin = async (): Promise<Origin> => {
  const port = await freePort()
  const child = spawn(process.execPath, [join(here, "bytes-origin.ts"), String(port)], { stdio: "inherit" })
  await listening(port, child)
  return { name: "bytes", port, stop: () => stop(child) }
}

/** 300 bytes of JSON. */
const filler: OriginAnswer = {
  type: "application/json",
  body: JSON.stringify({ filler: "x".repeat(300 - '{"filler":""}'.length) })
}

/** nginx where there is one, since it costs the least beside the proxy; else our own. */
export const startOrigin = async ({ type, body } = filler): Promise<Origin> => {
  const port = await freePort()
  const folder = await mkdtemp(join(tmpdir(), "headgate-origin-"))
  await writeFile(
    join(folder, "nginx.conf"),
    `daemon off; worker_processes 1; pid ${folder}/pid; error_log stderr error;
     events { worker_connections 1024; }
     http { access_log off; keepalive_requests 100000000; keepalive_timeout 600; client_body_temp_path ${folder};
       proxy_temp_path ${folder}; fastcgi_temp_path ${folder}; uwsgi_temp_path ${folder}; scgi_temp_path ${folder};
       server { listen 127.0.0.1:${port} reuseport; location / { default_type ${type}; return 200 '${body}'; } } }`
  )
  const nginx = spawn("nginx", ["-c", join(folder, "nginx.conf"), "-e", "stderr"], { stdio: "ignore" })
  const found = await new Promise<boolean>((resolve) => {
    nginx.once("error", () => resolve(false))
    nginx.once("spawn", () => resolve(true))
  })
  const child = found
    ? nginx
    : spawn(process.execPath, [join(here, "origin.ts"), String(port), body, type], { stdio: "inherit" })
  await listening(port, child)
  return {
    name: found ? "nginx" : "node:net",
    port,
    stop: async () => {
      await stop(child)
      await rm(folder, { recursive: true, force: true })
    }
  }
}
