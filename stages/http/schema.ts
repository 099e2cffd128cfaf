/** The wire shape of http: HTTP settings of calls to a backend. Connections of policies share it. */
import { declared, BackendHttp as Http } from "../../spec/policy.ts"

export { Http }

export const http = declared(Http, { places: ["backend"] })
