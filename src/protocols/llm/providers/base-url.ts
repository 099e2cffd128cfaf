/** A `baseUrl` of configuration taken apart into the address override that it stands for. */
import type { AddressOverride } from "./settings.ts"

/** The parts of a base URL, or what is wrong with it. The path, when it is more than `/`, becomes the path prefix. */
export const parseBaseUrl = (
  baseUrl: string
): (AddressOverride & { readonly host: string; readonly port: number }) | { readonly problem: string } => {
  const url = URL.parse(baseUrl)
  if (url === null || (url.protocol !== "http:" && url.protocol !== "https:"))
    return { problem: "Expected an http or https URL" }
  if (url.username !== "" || url.password !== "") return { problem: "Expected a URL without user info" }
  if (url.search !== "" || url.hash !== "") return { problem: "Expected a URL without query and fragment" }
  const scheme = url.protocol === "https:" ? "https" : "http"
  const path = url.pathname.replace(/\/+$/, "")
  return {
    scheme,
    host: url.hostname,
    port: url.port === "" ? (scheme === "https" ? 443 : 80) : Number(url.port),
    ...(path === "" ? {} : { pathPrefix: path })
  }
}
