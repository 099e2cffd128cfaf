/** `headgatectl proxy ready`: whether a running proxy takes requests, for health checks where there is no other program. */
import { Console, Effect, Option } from "effect"
import { Command, Flag } from "effect/cli"
import { askAdmin } from "../admin/client.ts"
import { localAddress, port } from "./admin-address.ts"
import { orExit } from "./failure.ts"

export const readyCommand = Command.make(
  "ready",
  {
    chosen: Flag.Int("readiness-port").pipe(
      Flag.withSchema(port),
      Flag.optional,
      Flag.withDescription(
        "Port of the proxy's readiness check on this machine; default: READINESS_ADDR of the environment, as for the proxy, else 15021."
      )
    )
  },
  ({ chosen }) =>
    Effect.gen(function* () {
      const address = yield* localAddress("READINESS_ADDR", "localhost:15021", Option.getOrUndefined(chosen))
      const answer = yield* askAdmin(address, "GET", "/healthz/ready", "the readiness check")
      yield* Console.log(String(answer).trimEnd())
    }).pipe(orExit())
).pipe(
  Command.withDescription("Say whether a running proxy takes requests: exits with 0 when it does, with 1 when not."),
  Command.withExamples([{ command: "headgatectl proxy ready" }])
)
