/**
 * The last resort against orphans: one small shell process that knows all process groups we have started and ends them
 * when its standard input closes, which happens however this process dies, SIGKILL and crashes included.
 */
import { type ChildProcess, spawn } from "node:child_process"

const script = `
groups=" "
while read -r op id; do
  case "$op" in
    +) groups="$groups$id " ;;
    -) case "$groups" in *" $id "*) groups="\${groups%% $id *} \${groups#* $id }" ;; esac ;;
  esac
done
for id in $groups; do kill -TERM "-$id" 2>/dev/null; done
[ "$groups" = " " ] || sleep 1
for id in $groups; do kill -KILL "-$id" 2>/dev/null; done
`

/** Keeps watch over process groups; the number of a group is the id of its leader. */
export interface Guardian {
  readonly watch: (group: number) => void
  readonly release: (group: number) => void
  /** It ends by itself, after what it still watches. */
  readonly close: () => void
}

/** Starts with the first group that it is given. Where there is no shell, nothing is watched. */
export const makeGuardian = (): Guardian => {
  let shell: ChildProcess | undefined
  const tell = (line: string) => {
    if (shell?.stdin?.writable === true) shell.stdin.write(line)
  }
  const start = (): ChildProcess => {
    // In a group of its own: what is sent to ours (Ctrl-C) must not reach it.
    const started = spawn("/bin/sh", ["-c", script], { detached: true, stdio: ["pipe", "ignore", "ignore"], env: {} })
    started.on("error", () => {})
    started.stdin?.on("error", () => {})
    started.unref()
    // A pipe is a socket here; it must not keep the process alive either.
    const stdin = started.stdin as { unref?: () => void } | null
    stdin?.unref?.()
    return started
  }
  return {
    watch: (group) => {
      shell ??= start()
      tell(`+ ${group}\n`)
    },
    release: (group) => tell(`- ${group}\n`),
    close: () => {
      shell?.stdin?.end()
      shell = undefined
    }
  }
}
