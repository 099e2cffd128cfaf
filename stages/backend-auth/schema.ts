/** The wire shape of backendAuth: how the proxy authenticates to a backend. Connections of policies share it. */
import { BackendAuth, declared } from "../../spec/policy.ts"

export { BackendAuth }

export const backendAuth = declared(BackendAuth, {
  places: ["route", "backend"],
  onRoute: "backend",
  // Otherwise it is one that the caller brought along.
  showsCredential: (auth) =>
    auth.credentials.length > 0 || !("passthrough" in auth || "oauthTokenExchange" in auth || "crossAppAccess" in auth)
})
