/** The wire shape of http: HTTP settings of calls to a backend. Connections of policies share it. */
export { BackendHttp as Http } from "../../spec/connection/http.ts"
