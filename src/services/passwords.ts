/**
 * Port: users with passwords, of which only hashes are known. A hash is slow on purpose, so it is checked where nobody else
 * waits for that, and what came of it is remembered.
 */
import { Context, Data, type Effect, type Scope } from "effect"

/** Who showed a name and its password. */
export interface PasswordUser {
  readonly username: string
}

/** More passwords wait to be checked than may, or whoever checks them came to an end over this one. */
export class PasswordsBusy extends Data.TaggedError("PasswordsBusy") {
  readonly status = 503
  readonly source = "proxy"
  override readonly message = "the password cannot be checked now"
}

/** The users of one list. */
export interface PasswordUsers {
  /**
   * What is known of a credential (RFC 7617: name and password, in base64) without a check: whose it is, `false` if nobody's;
   * `undefined` if it has to be checked.
   */
  readonly known: (credential: string) => PasswordUser | false | undefined
  /** Whose it is. It takes as long for a name that nobody has as for one that somebody has. */
  readonly check: (credential: string) => Effect.Effect<PasswordUser | false, PasswordsBusy>
}

/** Users with passwords, as a service. */
export class Passwords extends Context.Service<
  Passwords,
  {
    /**
     * The users of a list in the form of htpasswd. Lists of one content are one, and what is remembered of it outlives a
     * reload; lines that nobody can log in by are told in the log.
     * @param place where the list stands in the configuration.
     */
    readonly open: (list: string, place: string) => Effect.Effect<PasswordUsers, never, Scope.Scope>
  }
>()("headgate/services/Passwords") {}
