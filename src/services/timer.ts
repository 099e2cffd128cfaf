/** Port: runs something after a number of milliseconds, unless it is called off. Tests put their own time in its place. */
import { Context } from "effect"

export type Later = (milliseconds: number, action: () => void) => () => void

/** Node runs a longer timer at once. */
const longest = 2 ** 31 - 1

export const later: Later = (milliseconds, action) => {
  const timer = setTimeout(
    () => {
      if (milliseconds > longest) callOff = later(milliseconds - longest, action)
      else action()
    },
    Math.min(milliseconds, longest)
  )
  let callOff = () => clearTimeout(timer)
  return () => callOff()
}

export const Timer = Context.Reference<Later>("headgate/services/Timer", { defaultValue: () => later })
