/** nginx, HAProxy, Apache, Caddy and Node as reverse proxies on loopback, each in front of one backend, framing as strictly as it can. */
import { type ChildProcess, spawn, spawnSync } from "node:child_process"
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { connect } from "node:net"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { setTimeout as sleep } from "node:timers/promises"
import { Effect } from "effect"
import { nowhere } from "../../test/origin.ts"

export const serverNames = ["nginx", "haproxy", "apache", "caddy", "node"] as const
export type ServerName = (typeof serverNames)[number]

/** The packages of Debian that hold them, but for the last one, which runs this. */
export const packages = ["nginx-light", "haproxy", "apache2", "caddy"] as const

interface Recipe {
  readonly version: readonly [command: string, ...args: ReadonlyArray<string>]
  readonly file: string
  readonly text: (folder: string, port: number, backend: number) => string
  readonly command: (folder: string) => readonly [command: string, ...args: ReadonlyArray<string>]
}

const modules = ["mpm_event", "authz_core", "proxy", "proxy_http"]

const recipes: Readonly<Record<ServerName, Recipe>> = {
  nginx: {
    version: ["nginx", "-v"],
    file: "nginx.conf",
    text: (folder, port, backend) => `
daemon off; master_process off; pid ${folder}/pid; error_log ${folder}/error.log;
events { worker_connections 200; }
http {
  access_log off;
  client_header_timeout 5s; client_body_timeout 5s;
  ${["client_body", "proxy", "fastcgi", "uwsgi", "scgi"].map((kind) => `${kind}_temp_path ${folder}/${kind};`).join(" ")}
  upstream backend { server 127.0.0.1:${backend}; keepalive 4; }
  server {
    listen 127.0.0.1:${port};
    location / { proxy_pass http://backend; proxy_http_version 1.1; proxy_set_header Connection ""; proxy_set_header Host a; }
  }
}`,
    command: (folder) => ["nginx", "-p", folder, "-c", join(folder, "nginx.conf")]
  },
  haproxy: {
    version: ["haproxy", "-v"],
    file: "haproxy.cfg",
    text: (_, port, backend) => `
global
  maxconn 200
defaults
  mode http
  timeout connect 2s
  timeout client 5s
  timeout server 5s
  timeout http-request 5s
frontend in
  bind 127.0.0.1:${port}
  default_backend out
backend out
  server one 127.0.0.1:${backend}
`,
    command: (folder) => ["haproxy", "-db", "-f", join(folder, "haproxy.cfg")]
  },
  apache: {
    version: ["apache2", "-v"],
    file: "apache.conf",
    text: (folder, port, backend) => `
ServerRoot ${folder}
PidFile ${folder}/pid
ErrorLog ${folder}/error.log
DefaultRuntimeDir ${folder}
Mutex file:${folder}
ServerName a
Listen 127.0.0.1:${port}
${modules.map((name) => `LoadModule ${name}_module /usr/lib/apache2/modules/mod_${name}.so`).join("\n")}
StartServers 1
Timeout 5
HttpProtocolOptions Strict LenientMethods Require1.0
AllowEncodedSlashes NoDecode
TraceEnable extended
ProxyRequests Off
ProxyPass / http://127.0.0.1:${backend}/ nocanon
`,
    command: (folder) => ["apache2", "-f", join(folder, "apache.conf"), "-DFOREGROUND"]
  },
  caddy: {
    version: ["caddy", "version"],
    file: "Caddyfile",
    text: (_, port, backend) => `
{
  admin off
  auto_https off
  default_bind 127.0.0.1
}
http://:${port} {
  reverse_proxy 127.0.0.1:${backend}
}
`,
    command: (folder) => ["caddy", "run", "--config", join(folder, "Caddyfile"), "--adapter", "caddyfile"]
  },
  node: {
    version: [process.execPath, "--version"],
    file: "proxy.mjs",
    text: (_, port, backend) => `
import { createServer, request } from "node:http"
// A request that this program cannot handle must not end it: whatever came later would count as refused.
process.on("uncaughtException", () => {})
createServer((asked, answer) => {
  const { connection, ...headers } = asked.headers
  const call = request({ host: "127.0.0.1", port: ${backend}, method: asked.method, path: asked.url, headers, agent: false })
  call.on("response", (got) => got.pipe(answer.writeHead(got.statusCode, got.headers)))
  call.on("error", () => answer.headersSent ? answer.destroy() : answer.writeHead(502).end())
  asked.pipe(call)
}).listen(${port}, "127.0.0.1")`,
    command: (folder) => [process.execPath, join(folder, "proxy.mjs")]
  }
}

export interface Server extends AsyncDisposable {
  readonly name: ServerName
  readonly port: number
  readonly version: string
}

const listens = (port: number): Promise<boolean> =>
  new Promise((resolve) => {
    const socket = connect(port, "127.0.0.1")
    socket.once("connect", () => resolve(true)).once("error", () => resolve(false))
    socket.once("connect", () => socket.destroy())
  })

/** Starts one, and waits until it listens. */
export const startServer = async (name: ServerName, backend: number): Promise<Server> => {
  const recipe = recipes[name]
  const port = await Effect.runPromise(nowhere)
  const folder = mkdtempSync(join(tmpdir(), `headgate-judge-${name}-`))
  mkdirSync(join(folder, "logs"))
  writeFileSync(join(folder, recipe.file), recipe.text(folder, port, backend))
  const [command, ...args] = recipe.command(folder)
  // It may write beside its configuration, and nowhere else.
  const env = { PATH: process.env["PATH"], HOME: folder, XDG_DATA_HOME: folder, XDG_CONFIG_HOME: folder }
  let said = ""
  const child: ChildProcess = spawn(command, args, { cwd: folder, env, stdio: ["ignore", "pipe", "pipe"] })
  for (const stream of [child.stdout!, child.stderr!]) stream.on("data", (text) => (said += text))
  const ended = new Promise<void>((resolve) => {
    child.once("error", () => resolve()).once("close", () => resolve())
  })
  const stop = async () => {
    child.kill("SIGTERM")
    if ((await Promise.race([ended, sleep(3000, "late")])) === "late") child.kill("SIGKILL")
    await ended
    rmSync(folder, { recursive: true, force: true })
  }
  for (let tries = 0; !(await listens(port)); tries++) {
    if (tries < 100 && child.exitCode === null && child.pid !== undefined) await sleep(50)
    else {
      await stop()
      throw new Error(`${name} does not start: ${said}`)
    }
  }
  const [asked, ...how] = recipe.version
  const { stdout, stderr } = spawnSync(asked, how, { encoding: "utf8" })
  const version = /\d+\.\d+\.\d+/.exec(`${stdout}${stderr}`)?.[0] ?? "unknown"
  return { name, port, version, [Symbol.asyncDispose]: stop }
}
