/** Port: runs something after a number of milliseconds, unless it is called off. Tests put their own time in its place. */
import { Context } from "effect"

export type Later = (milliseconds: number, action: () => void) => () => void

/** Node runs a longer timer at once. */
const longest = 2 ** 31 - 1

const timers = (keepAlive: boolean): Later => {
  const start: Later = (milliseconds, action) => {
    const timer = setTimeout(
      () => {
        if (milliseconds > longest) callOff = start(milliseconds - longest, action)
        else action()
      },
      Math.min(milliseconds, longest)
    )
    if (!keepAlive) timer.unref()
    let callOff = () => clearTimeout(timer)
    return () => callOff()
  }
  return start
}

export const later = timers(true)

/** Does not keep a process alive that has nothing else to do. */
export const laterIfAlive = timers(false)

export const Timer = Context.Reference<Later>("headgate/services/Timer", { defaultValue: () => later })
