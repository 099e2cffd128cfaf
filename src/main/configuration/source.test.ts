import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { check } from "../../check/check.ts"
import { defaultFile, defaultPath, fromFile } from "./source.ts"

const folder = Effect.acquireRelease(
  Effect.sync(() => mkdtempSync(join(tmpdir(), "headgate-default-"))),
  (path) => Effect.sync(() => rmSync(path, { recursive: true, force: true }))
)

describe("the configuration when none is named", () => {
  it.effect("is the one that a container mounts, else the user's", () =>
    Effect.gen(function* () {
      const at = yield* folder
      const mounted = join(at, "config")
      const user = { HOME: "/home/me", XDG_CONFIG_HOME: "" }
      const place = (env: Readonly<Record<string, string>>) => defaultPath(env, mounted)
      assert.strictEqual(yield* place(user), "/home/me/.config/headgate/config.yaml")
      assert.strictEqual(yield* place({ ...user, XDG_CONFIG_HOME: "/xdg" }), "/xdg/headgate/config.yaml")
      const absent = yield* Effect.flip(defaultPath({ ...user, HEADGATE_ENV: "container" }, mounted))
      assert.strictEqual(absent.message, `no configuration: mount one at ${mounted}, or name a file with -f`)
      mkdirSync(mounted)
      assert.strictEqual(yield* place({ ...user, HEADGATE_ENV: "container" }), join(mounted, "config.yaml"))
      assert.strictEqual(yield* place(user), join(mounted, "config.yaml"))
      const cluster = { ...user, KUBERNETES_SERVICE_HOST: "10.0.0.1" }
      assert.strictEqual(
        (yield* Effect.flip(defaultPath(cluster, mounted))).message,
        "no configuration: name a file with -f"
      )
      assert.strictEqual(yield* place({ ...cluster, LOCAL_XDS_PATH: "/xds" }), join(mounted, "config.yaml"))
    })
  )

  it.effect("is made once, and is right", () =>
    Effect.gen(function* () {
      const env = { XDG_CONFIG_HOME: yield* folder }
      const source = yield* defaultFile(env, "/nowhere/config")
      assert.strictEqual(source.file, join(env.XDG_CONFIG_HOME, "headgate/config.yaml"))
      const text = yield* source.read
      assert.match(text, /^# yaml-language-server: \$schema=/)
      const { config, problems } = check({ name: source.name, text, env })
      assert.deepStrictEqual(problems, [])
      assert.deepStrictEqual(
        config?.binds.map(({ port, address }) => [port, address]),
        [[4000, "localhost"]]
      )
      assert.deepStrictEqual(
        [config?.settings.statsAddr, config?.settings.readinessAddr],
        ["localhost:15020", "localhost:15021"]
      )
      assert.strictEqual(source.note, `no file was named with -f: created ${source.file}`)
      writeFileSync(source.file!, "{}")
      const again = yield* defaultFile(env, "/nowhere/config")
      assert.strictEqual(again.note, `no file was named with -f: using ${source.file}`)
      assert.strictEqual(readFileSync(source.file!, "utf8"), "{}")
    })
  )

  it.effect("in a mounted folder it says nothing of addresses: a container decides what it publishes", () =>
    Effect.gen(function* () {
      const mounted = yield* folder
      const text = yield* (yield* defaultFile({}, mounted)).read
      const { config } = check({ name: "config.yaml", text, env: {} })
      assert.deepStrictEqual(
        config?.binds.map(({ port, address }) => [port, address]),
        [[4000, undefined]]
      )
      assert.deepStrictEqual([config?.settings.statsAddr, config?.settings.readinessAddr], [undefined, undefined])
    })
  )

  it.effect("that cannot be made is told", () =>
    Effect.gen(function* () {
      const at = yield* folder
      const file = join(at, "file")
      writeFileSync(file, "")
      const { message } = yield* Effect.flip(defaultFile({ XDG_CONFIG_HOME: file }, "/nowhere/config"))
      assert.include(message, `cannot create ${file}/headgate/config.yaml: `)
      assert.isFalse(existsSync(join(file, "headgate")))
    })
  )
})

describe("a configuration by its path", () => {
  it("is watched unless it can be read once alone", () => {
    const watched = ["config.yaml", "/config/config.yaml", "/dev/stdinx", "./-"]
    const once = ["-", "/dev/stdin", "/dev/fd/3", "/proc/self/fd/0"]
    assert.deepStrictEqual(
      watched.map((path) => fromFile(path).file),
      watched
    )
    assert.deepStrictEqual(
      once.map((path) => fromFile(path).file),
      once.map(() => undefined)
    )
    assert.strictEqual(fromFile("-").name, "<stdin>")
  })
})
