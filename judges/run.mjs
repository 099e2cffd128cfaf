// `npm run judge -- <name>` installs what a judge needs and runs it: outside programs, and what they think of us. Without a
// name it lists the judges. Each is a folder with a `judge.ts` that ends with `N passed, N failed`.
import { spawnSync } from "node:child_process"
import { existsSync, readdirSync, readFileSync } from "node:fs"
import { join } from "node:path"

const folder = import.meta.dirname
const judge = (name) => join(folder, name, "judge.ts")
const [name, ...args] = process.argv.slice(2)

if (name === undefined || !existsSync(judge(name))) {
  if (name !== undefined) console.error(`there is no judge ${name}\n`)
  console.log("npm run judge -- <name>")
  for (const entry of readdirSync(folder).filter((entry) => existsSync(judge(entry)))) {
    const [, about = ""] = /^\/\*\*\s*\**\s*(.*?)(?:\*\/|\n \*\s*\n)/s.exec(readFileSync(judge(entry), "utf8")) ?? []
    console.log(`  ${entry}: ${about.replaceAll(/\s*\n \*\s*/g, " ").trim()}`)
  }
  process.exit(name === undefined ? 0 : 2)
}
process.exit(spawnSync(process.execPath, [judge(name), ...args], { stdio: "inherit" }).status ?? 1)
