/**
 * The last resort against orphans: one small shell process that knows all process groups we have started and ends them
 * when its standard input closes, which happens however this process dies, SIGKILL and crashes included.
 */
import { type ChildProcess, spawn } from "node:child_process"
import { type Container, contained, ignore } from "../../src/services/contained.ts"

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

/** A shell that lived for less than so many milliseconds is not replaced before there is something new to watch. */
const shortest = 1000

/** Starts with the first group that it is given. Where there is no shell, nothing is watched. */
export const makeGuardian = (container: Container): Guardian => {
  const groups = new Set<number>()
  let shell: ChildProcess | undefined
  const tell = (line: string) => {
    if (shell?.stdin?.writable === true) shell.stdin.write(line)
  }
  /** Starts the shell, which then knows of all groups. */
  const start = () => {
    const begun = performance.now()
    try {
      // In a group of its own: what is sent to ours (Ctrl-C) must not reach it.
      const started = spawn("/bin/sh", ["-c", script], { detached: true, stdio: ["pipe", "ignore", "ignore"], env: {} })
      const over = contained(container, () => {
        if (shell !== started) return
        shell = undefined
        if (groups.size > 0 && performance.now() - begun >= shortest) start()
      })
      started.on("error", over)
      started.on("exit", over)
      started.stdin?.on("error", ignore)
      started.unref()
      // A pipe is a socket here; it must not keep the process alive either.
      const stdin = started.stdin as { unref?: () => void } | null
      stdin?.unref?.()
      shell = started
    } catch {
      // Want of memory, say: the next group tries again.
      return
    }
    for (const group of groups) tell(`+ ${group}\n`)
  }
  return {
    watch: (group) => {
      groups.add(group)
      if (shell === undefined) start()
      else tell(`+ ${group}\n`)
    },
    release: (group) => {
      groups.delete(group)
      tell(`- ${group}\n`)
    },
    close: () => {
      const last = shell
      shell = undefined
      last?.stdin?.end()
    }
  }
}
