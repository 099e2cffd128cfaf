/** The commands of MCP servers: whether each is a program that this process can start. */
import { accessSync, constants, statSync } from "node:fs"
import { delimiter, join } from "node:path"
import { Redacted } from "effect"
import type { Environment } from "../../../spec/config/expand.ts"
import { formatPath } from "../../../spec/config/path.ts"
import type { Normalised } from "../../routing/normalised.ts"
import { type Ailment, error } from "./ailment.ts"

type Found = "program" | "missing" | "folder" | "locked"

const look = (file: string): Found => {
  try {
    if (statSync(file).isDirectory()) return "folder"
  } catch {
    return "missing"
  }
  try {
    accessSync(file, constants.X_OK)
    return "program"
  } catch {
    return "locked"
  }
}

/** What to install for the programs that servers are usually started with. */
const sources: Readonly<Record<string, string>> = {
  npx: "install Node.js, which brings npx",
  uvx: "install uv, which brings uvx",
  docker: "install Docker",
  python3: "install Python 3",
  python: "install Python, or write python3"
}

const advice: Readonly<Record<Exclude<Found, "program">, string>> = {
  missing: "correct the path",
  folder: "name the program in that folder",
  locked: "make it executable: chmod +x"
}

export const commandAilments = (config: Normalised, env: Environment): ReadonlyArray<Ailment> =>
  Object.values(config.backends).flatMap(({ destination, path }) => {
    if (destination.kind !== "mcp") return []
    return destination.config.targets.flatMap((target, index): ReadonlyArray<Ailment> => {
      if (target.stdio === undefined) return []
      const { cmd, env: own, clearEnv } = target.stdio
      const place = `${formatPath([...path, "targets", index, "stdio", "cmd"])}`
      if (cmd.includes("/")) {
        const found = look(cmd)
        if (found === "program") return []
        const what = { missing: "is not there", folder: "is a folder", locked: "may not be run" }[found]
        return [error("commands", `${place}: ${cmd} ${what}`, advice[found])]
      }
      const given = own["PATH"]
      const folders = (given === undefined ? (clearEnv ? "" : (env["PATH"] ?? "")) : Redacted.value(given)).split(
        delimiter
      )
      if (folders.some((folder) => folder !== "" && look(join(folder, cmd)) === "program")) return []
      return [
        error(
          "commands",
          `${place}: there is no ${cmd} in the folders of PATH`,
          clearEnv && given === undefined
            ? "write its whole path: with clearEnv the server has no PATH"
            : `${sources[cmd] ?? "install it"}, or write its whole path`
        )
      ]
    })
  })
