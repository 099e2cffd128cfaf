/**
 * Whether the npx is gone that was asked for this program. It tells a signal to the shell between them, which dies of it and tells
 * nobody: the proxy would serve on, and hold its ports, without anybody knowing of it.
 */
const often = 250

/** Listens until the returned function is called. Whoever else started the program, also from a script of npm, may leave it alone. */
export const onNpxGone = (env: Readonly<Record<string, string | undefined>>, gone: () => void): (() => void) => {
  // Newer ones quote the command for their shell.
  const isOfNpx = env["npm_lifecycle_event"] === "npx" && /^["']?headgate\b/.test(env["npm_lifecycle_script"] ?? "")
  if (!isOfNpx) return () => {}
  const parent = process.ppid
  const timer = setInterval(() => {
    if (process.ppid !== parent) gone()
  }, often).unref()
  return () => clearInterval(timer)
}
