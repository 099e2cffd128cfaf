/** Whether a connection of a client may be made: the policies of connections decide, once, before anything of it is read. */
import { Cause, Effect, Exit } from "effect"
import { type Contact, remember } from "./contact.ts"
import { Defect } from "./errors.ts"
import { errorOf, observedLoop } from "./run.ts"
import { next, type StageError, type Verdict } from "./stage.ts"

/** Whether the connection stays. Never fails: whatever goes wrong closes it. */
export type Admit = (contact: Contact) => Effect.Effect<boolean>

const admitted = Exit.succeed(true)
const closed = Exit.succeed(false)

/**
 * @param refused told of each connection that is closed, and why.
 * @param defects told of what threw.
 */
export const makeAdmit = (
  clock: () => number,
  refused: (contact: Contact, error: StageError) => void,
  defects: (defect: Defect) => void
): Admit => {
  // There are few of them beside requests: what was decided is kept for the traces of these.
  const loop = observedLoop<Contact>(clock, (contact, stage) => contact.events.push({ stage }))

  const concluded = (contact: Contact, exit: Exit.Exit<Verdict, StageError>): Exit.Exit<boolean> => {
    if (Exit.isSuccess(exit) && exit.value === undefined) {
      remember(contact)
      return admitted
    }
    const error = Exit.isFailure(exit) ? failure(exit.cause) : answered()
    if (error instanceof Defect) defects(error)
    refused(contact, error)
    return closed
  }

  return (contact) => {
    const outcome = loop(contact.admission.steps, contact, 0)
    if (outcome === next) return concluded(contact, next)
    if (Exit.isExit(outcome)) return concluded(contact, outcome as Exit.Exit<Verdict, StageError>)
    return Effect.flatMap(Effect.exit(outcome), (exit) =>
      Exit.isFailure(exit) && Cause.hasInterruptsOnly(exit.cause) ? Effect.interrupt : concluded(contact, exit)
    )
  }
}

const failure = (cause: Cause.Cause<StageError>): StageError =>
  errorOf(cause) ?? new Defect({ cause: Cause.squash(cause) })

/** Nobody can be answered who has asked nothing. */
const answered = (): Defect => new Defect({ cause: new Error("a policy answered a connection") })
