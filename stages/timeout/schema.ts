/** The wire shape of timeout: bounds on the way to the head of the answer. */
import { declared, object, optional, TimeLimit } from "../../spec/policy.ts"

export const Timeout = object(
  "Timeout",
  "Answers 504 when a request or one try of it takes too long. Of several limits, the `grpc-timeout` of a gRPC request among them, the smallest one counts. A call of an MCP server is cancelled there.",
  {
    requestTimeout: optional(
      TimeLimit,
      "From the arrival of the request to the head of the answer. Whatever the route waits for meanwhile counts: the client's body, policies, retries and delays. The body of the answer is not limited, so streams survive."
    ),
    backendRequestTimeout: optional(
      TimeLimit,
      "For each try, from the choice of the endpoint to the head of its answer: name, connection, tunnel and TLS are part of it. It stands still while the client's body is waited for. `http.requestTimeout` of a backend holds in its place."
    )
  }
)

export const timeout = declared(Timeout, { places: ["route"] })
