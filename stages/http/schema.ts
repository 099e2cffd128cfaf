/** The wire shape of http: HTTP settings of calls to a backend. Connections of policies share it. */
import { BackendHttp as Http } from "../../spec/connection/http.ts"
import { declared } from "../../spec/standalone/policies.ts"

export { Http }

export const http = declared(Http, { places: ["backend"] })
