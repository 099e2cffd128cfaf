/** placeholder */
import type { ListenerTls } from "../../src/services/listener-tls.ts"
export const authorityOf = (_: ListenerTls) => ({
  issue: (_name: string, _now: number): { cert: string; key: string; until: number } => {
    throw new Error("not yet")
  }
})
