/** A browser with somebody before it: it follows redirects, keeps cookies, signs in and consents. */

const attribute = (html: string, name: string) =>
  new RegExp(`${name}="([^"]*)"`).exec(html)?.[1]?.replaceAll("&amp;", "&")

/**
 * Opens the address of an authorization request and does what the pages ask.
 * @returns the address at which the client awaits the answer, with the answer in it.
 */
export const authorizeAs = async (user: string, start: URL, redirectUrl: string): Promise<URL> => {
  const cookies = new Map<string, string>()
  let next: { readonly url: URL; readonly form: URLSearchParams | undefined } = { url: start, form: undefined }
  for (let steps = 0; steps < 20; steps++) {
    const response = await fetch(next.url, {
      redirect: "manual",
      headers: { cookie: [...cookies].map(([name, value]) => `${name}=${value}`).join("; ") },
      ...(next.form === undefined ? {} : { method: "POST", body: next.form })
    })
    for (const line of response.headers.getSetCookie()) {
      const [, name, value] = /^([^=]+)=([^;]*)/.exec(line)!
      if (value === "") cookies.delete(name!)
      else cookies.set(name!, value!)
    }
    const location = response.headers.get("location")
    if (location !== null) {
      const url = new URL(location, next.url)
      if (url.href.startsWith(redirectUrl)) return url
      next = { url, form: undefined }
      continue
    }
    const page = await response.text()
    const action = attribute(page, "action")
    const prompt = /name="prompt" value="([^"]*)"/.exec(page)?.[1]
    if (action === undefined || prompt === undefined) throw new Error(`no form at ${next.url}: ${page.slice(0, 2000)}`)
    const form = new URLSearchParams({ prompt, ...(prompt === "login" ? { login: user, password: "any" } : {}) })
    next = { url: new URL(action, next.url), form }
  }
  throw new Error("the pages lead in a circle")
}
