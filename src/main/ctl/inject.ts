/** Sends the request of `proxy trace … -- URL`: by curl, so that every option of curl works. The URL's host is only a name. */
import { spawn } from "node:child_process"
import { devNull } from "node:os"
import { Data, Effect } from "effect"

/** The request could not be sent as given. */
export class InjectFailed extends Data.TaggedError("InjectFailed")<{ readonly detail: string }> {
  override get message() {
    return this.detail
  }
}

/**
 * The arguments of curl for a request to the proxy's listener on this machine.
 * @param port the listener's port; without one the port of the URL.
 */
export const curlArguments = (
  args: ReadonlyArray<string>,
  port: number | undefined
): ReadonlyArray<string> | InjectFailed => {
  const urls = args
    .filter((arg) => /^https?:\/\//i.test(arg))
    .map((arg) => (URL.canParse(arg) ? new URL(arg) : undefined))
  const first = urls[0]
  if (first === undefined || urls.includes(undefined))
    return new InjectFailed({ detail: "expected an http or https URL after --" })
  if (urls.some((url) => url?.host !== first.host))
    return new InjectFailed({ detail: "all URLs must have the same host" })
  const own = first.port === "" ? (first.protocol === "https:" ? "443" : "80") : first.port
  return [
    "--silent",
    "--show-error",
    "--output",
    devNull,
    ...args,
    "--connect-to",
    `${first.hostname}:${own}:127.0.0.1:${port ?? own}`
  ]
}

/** Runs curl; its error text is the failure's. */
export const curl = (args: ReadonlyArray<string>): Effect.Effect<void, InjectFailed> =>
  Effect.callback((resume) => {
    const child = spawn("curl", args, { stdio: ["ignore", "ignore", "pipe"] })
    let errors = ""
    child.stderr.setEncoding("utf8").on("data", (text: string) => {
      errors += text
    })
    child.on("error", (error: NodeJS.ErrnoException) =>
      resume(
        Effect.fail(
          new InjectFailed({
            detail: error.code === "ENOENT" ? "curl is not installed: it sends the request" : error.message
          })
        )
      )
    )
    child.on("close", (code) =>
      resume(
        code === 0 ? Effect.void : Effect.fail(new InjectFailed({ detail: errors.trim() || `curl ended with ${code}` }))
      )
    )
    return Effect.sync(() => child.kill())
  })
