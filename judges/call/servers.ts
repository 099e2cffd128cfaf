/** Servers of other programs, started for as long as a scope lasts. */
import { type ChildProcess, spawn } from "node:child_process"
import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { connect } from "node:net"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { setTimeout as sleep } from "node:timers/promises"
import { Effect, type Scope } from "effect"

const listens = (port: number): Promise<boolean> =>
  new Promise((resolve) => {
    const socket = connect(port, "127.0.0.1", () => resolve(true)).once("error", () => resolve(false))
    socket.once("connect", () => socket.destroy())
  })

/** A program in the foreground, once it listens on its ports. */
export const startServer = (
  command: string,
  args: ReadonlyArray<string>,
  ports: ReadonlyArray<number>
): Effect.Effect<void, never, Scope.Scope> =>
  Effect.asVoid(
    Effect.acquireRelease(
      Effect.promise(async () => {
        const child: ChildProcess = spawn(command, args, { stdio: "ignore" })
        for (const port of ports)
          for (let tries = 0; !(await listens(port)); tries++) {
            if (tries === 200 || child.exitCode !== null) throw new Error(`${command} does not start`)
            await sleep(50)
          }
        return child
      }),
      (child) =>
        Effect.promise(async () => {
          if (child.exitCode !== null) return
          const ended = new Promise((resolve) => child.once("close", resolve))
          child.kill("SIGTERM")
          await ended
        })
    )
  )

/** A folder that goes with the scope. */
export const temporaryFolder: Effect.Effect<string, never, Scope.Scope> = Effect.acquireRelease(
  Effect.sync(() => mkdtempSync(join(tmpdir(), "headgate-judge-call-"))),
  (folder) => Effect.sync(() => rmSync(folder, { recursive: true, force: true }))
)

/** @param http what stands in its section `http`. */
export const startNginx = (http: string, ports: ReadonlyArray<number>): Effect.Effect<void, never, Scope.Scope> =>
  Effect.flatMap(temporaryFolder, (folder) => {
    const temporary = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]
    writeFileSync(
      join(folder, "nginx.conf"),
      `
daemon off; master_process off; pid ${folder}/pid; error_log ${folder}/error.log;
events { worker_connections 2000; }
http {
  access_log off;
  ${temporary.map((kind) => `${kind}_temp_path ${folder}/${kind};`).join(" ")}
  ${http}
}`
    )
    return startServer("nginx", ["-p", folder, "-c", "nginx.conf", "-e", "stderr"], ports)
  })
