/** The wire shape of requestMirror: a copy of requests for another backend. */
import { declared, Fraction, object, required, SimpleBackend } from "../../spec/policy.ts"

export const RequestMirror = object(
  "RequestMirror",
  "Sends a copy of the head of requests to another backend; the body is not copied and the answer is ignored.",
  {
    backend: required(SimpleBackend, "The backend that gets the copies."),
    percentage: required(Fraction, "Share of the requests to copy, from 0 to 1.")
  }
)

export const requestMirror = declared(RequestMirror, { places: ["route"] })
