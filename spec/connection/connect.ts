/** What happens with CONNECT requests: a part of what a listener speaks. */
import { Schema } from "effect"
import { object, required } from "../field.ts"

export const ConnectMode = Schema.Literals(["deny", "route", "tunnel"])

export const Connect = object("Connect", "What happens with CONNECT requests.", {
  mode: required(
    ConnectMode,
    "`deny` answers 405; `route` matches a route, as if the path were `/`, and opens a tunnel to its backend; `tunnel` lets the inner connection enter the listener of its port, with nothing but the policies of connections before it."
  )
})
