/** The `package.json` of the published package: nothing is installed beside it, but `effect` by whoever uses the exports. */
import { readFileSync } from "node:fs"
import { join } from "node:path"
import { library, subpath } from "./entries.ts"

export const manifest = (root: string): unknown => {
  const own = JSON.parse(readFileSync(join(root, "package.json"), "utf8"))
  const { name, version, description, license, type, engines, repository, keywords } = own
  return {
    name,
    version,
    description,
    keywords,
    license,
    repository,
    type,
    engines,
    bin: { headgate: "bin/headgate.mjs", headgatectl: "bin/headgatectl.mjs" },
    man: ["./man/headgate.1", "./man/headgatectl.1"],
    exports: {
      ...Object.fromEntries(
        Object.keys(library).map((name) => [
          subpath(name),
          { types: `./library/${name}.d.ts`, default: `./library/${name}.mjs` }
        ])
      ),
      "./config.schema.json": "./config.schema.json",
      "./trace-event.schema.json": "./trace-event.schema.json",
      "./package.json": "./package.json"
    },
    peerDependencies: { effect: ">=4.1.0 <4.2.0" },
    peerDependenciesMeta: { effect: { optional: true } }
  }
}
