/** The types of the exports, bundled like their code: only what can be reached from an export is in the package. */
import { spawnSync } from "node:child_process"
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { rolldown } from "rolldown"
import { dts } from "rolldown-plugin-dts"
import { library } from "./entries.ts"

export const writeDeclarations = async (root: string, dist: string): Promise<void> => {
  const folder = mkdtempSync(join(tmpdir(), "headgate-types-"))
  try {
    const tsconfig = join(folder, "tsconfig.json")
    const types = join(folder, "types")
    writeFileSync(
      tsconfig,
      JSON.stringify({
        extends: join(root, "tsconfig.json"),
        compilerOptions: {
          noEmit: false,
          declaration: true,
          emitDeclarationOnly: true,
          rootDir: root,
          outDir: types,
          typeRoots: [join(root, "node_modules", "@types")]
        },
        files: Object.values(library).map((file) => join(root, file)),
        include: []
      })
    )
    const compiler = join(root, "node_modules", "typescript", "bin", "tsc")
    const { status } = spawnSync(process.execPath, [compiler, "-p", tsconfig], { stdio: "inherit" })
    if (status !== 0) throw new Error("the declarations could not be made")
    const entry = (file: string) => join(types, file.replace(/\.ts$/, ".d.ts"))
    const build = await rolldown({
      cwd: root,
      input: Object.fromEntries(Object.entries(library).map(([name, file]) => [name, entry(file)])),
      external: [/^effect($|\/)/, /^node:/],
      plugins: [dts({ dtsInput: true, emitDtsOnly: true, tsconfig })],
      // Everything else must be in the package itself.
      onLog: (level, log, handle) => (log.code === "UNRESOLVED_IMPORT" ? handle("error", log) : handle(level, log))
    })
    await build.write({ dir: join(dist, "library"), format: "esm", chunkFileNames: "[name]-[hash].js" })
    await build.close()
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
  // What the bundler needs at run time does not exist for types.
  for (const file of readdirSync(join(dist, "library")))
    if (/^rolldown-runtime-.*\.js$/.test(file)) rmSync(join(dist, "library", file))
}
