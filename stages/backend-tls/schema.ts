/** The wire shape of backendTLS: TLS towards a backend. Connections of policies share it. */
import { BackendTls, declared } from "../../spec/policy.ts"

export { BackendTls }

export const backendTLS = declared(BackendTls, {
  places: ["route", "tcpRoute", "backend", "tcpBackend"],
  onRoute: "backend",
  doubts: (tls) =>
    (["insecure", "insecureHost"] as const)
      .filter((key) => tls[key] === true)
      .map((key) => ({
        code: "insecure-tls",
        path: [key],
        message: "the certificate of the server is not fully verified; set root or hostname instead"
      }))
})
