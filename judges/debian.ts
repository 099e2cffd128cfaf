/** Packages of Debian that a judge needs: installed when they are not there, and the judge fails when they cannot be. */
import { spawnSync } from "node:child_process"
import { existsSync, rmSync, writeFileSync } from "node:fs"

const installed = (name: string): boolean =>
  spawnSync("dpkg", ["--status", name], { encoding: "utf8" }).stdout.includes("\nStatus: install ok installed\n")

/** Fails when one of them is still missing afterwards. */
export const install = (...names: ReadonlyArray<string>): void => {
  const missing = names.filter((name) => !installed(name))
  if (missing.length === 0) return
  // No daemon starts because it was installed.
  const policy = "/usr/sbin/policy-rc.d"
  const own = !existsSync(policy)
  if (own) writeFileSync(policy, "#!/bin/sh\nexit 101\n", { mode: 0o755 })
  try {
    const options = { stdio: "inherit", env: { ...process.env, DEBIAN_FRONTEND: "noninteractive" } } as const
    spawnSync("apt-get", ["update", "-qq"], options)
    spawnSync("apt-get", ["install", "-y", "-qq", "--no-install-recommends", ...missing], options)
  } finally {
    if (own) rmSync(policy)
  }
  const still = missing.filter((name) => !installed(name))
  if (still.length > 0) throw new Error(`not to be had: ${still.join(", ")} (Debian, as root: apt-get install)`)
}
