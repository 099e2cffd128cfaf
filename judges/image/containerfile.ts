/** What a Containerfile says about the image that it makes, as far as ours use its language. */
import { readFileSync } from "node:fs"

export interface Image {
  readonly env: Readonly<Record<string, string>>
  readonly user: string
  readonly entrypoint: ReadonlyArray<string>
  readonly command: ReadonlyArray<string>
  readonly healthCheck: ReadonlyArray<string>
  readonly volumes: ReadonlyArray<string>
}

export const readContainerfile = (file: string): Image => {
  const text = readFileSync(file, "utf8").replaceAll("\\\n", " ")
  const last = text.slice(text.lastIndexOf("\nFROM "))
  const all = (word: string) => [...last.matchAll(new RegExp(`^${word} (.*)$`, "gm"))].map(([, rest]) => rest!.trim())
  const list = (word: string): ReadonlyArray<string> => JSON.parse(/\[.*\]$/.exec(all(word).at(-1) ?? "[]")![0])
  const pairs = all("ENV").flatMap((line) => line.split(/\s+/).map((pair) => pair.split("=") as [string, string]))
  return {
    env: Object.fromEntries(pairs),
    user: all("USER").at(-1) ?? "0:0",
    entrypoint: list("ENTRYPOINT"),
    command: list("CMD"),
    healthCheck: list("HEALTHCHECK"),
    volumes: all("VOLUME")
  }
}
