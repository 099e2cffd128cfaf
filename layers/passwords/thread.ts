/** The thread that checks passwords, one after another. */
import { parentPort } from "node:worker_threads"
import type { Checked, Order } from "./messages.ts"
import { verify } from "./verify.ts"

const checked = ({ password, hash }: Order): boolean | undefined => {
  try {
    return verify(password, hash)
  } catch {
    return undefined
  }
}

parentPort?.on("message", (order: Order) => {
  parentPort?.postMessage({ id: order.id, matches: checked(order) } satisfies Checked)
})
