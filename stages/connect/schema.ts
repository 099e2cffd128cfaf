/** The wire shape of connect: what happens with CONNECT requests. */
import { Schema } from "effect"
import { declared, object, required } from "../../spec/policy.ts"

export const Connect = object("Connect", "What happens with CONNECT requests.", {
  mode: required(
    Schema.Literals(["deny", "route", "tunnel"]),
    "`deny` answers 405; `route` matches a route and opens a tunnel to its backend; `tunnel` lets the inner connection enter the listener of its port."
  )
})

export const connect = declared(Connect, { places: ["frontend"], isIdle: ({ mode }) => mode === "deny" })
