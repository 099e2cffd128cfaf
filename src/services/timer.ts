/** Port: runs something after a number of milliseconds, unless it is called off. Tests put their own time in its place. */
import { Context } from "effect"
import { type Container, containing, nobody } from "./contained.ts"

export type Later = (milliseconds: number, action: () => void) => () => void

/** Node runs a longer timer at once. */
const longest = 2 ** 31 - 1

const fire = containing((_: Container, action: () => void) => action())

const timers = (keepAlive: boolean, container: Container): Later => {
  const start: Later = (milliseconds, action) => {
    if (milliseconds > longest) {
      let callOff = start(longest, () => {
        callOff = start(milliseconds - longest, action)
      })
      return () => callOff()
    }
    const timer = setTimeout(fire, milliseconds, container, action)
    if (!keepAlive) timer.unref()
    return () => clearTimeout(timer)
  }
  return start
}

/** `container` is told of what an action throws: whoever starts a timer is not above it any more when it fires. */
export const containedLater = (container: Container): Later => timers(true, container)

/** Does not keep a process alive that has nothing else to do. */
export const containedLaterIfAlive = (container: Container): Later => timers(false, container)

export const later = containedLater(nobody)

export const Timer = Context.Reference<Later>("headgate/services/Timer", { defaultValue: () => later })
