/** The wire shape of requestMirror: copies of requests for other backends. Written as one or as several, it decodes to a list. */
import { Schema, SchemaGetter } from "effect"
import { declared, Fraction, object, required, SimpleBackend } from "../../spec/policy.ts"

const Mirror = object("Mirror", "One backend that gets copies.", {
  backend: required(SimpleBackend, "The backend that gets the copies."),
  percentage: required(Fraction, "Share of the requests to copy, from 0 to 1.")
})

const Several = Schema.Array(Mirror).check(
  Schema.isMinLength(1, { expected: "at least one mirror" }),
  Schema.isMaxLength(16, { expected: "at most 16 mirrors" })
)

const Form = Schema.Union([Mirror, Several]).annotate({
  identifier: "RequestMirror",
  description:
    "Sends copies of requests to other backends, whose answers nobody waits for. A copy has the body as well where that is whole within 64 KiB, and is the head alone otherwise. At most 64 copies are under way, for 10 seconds each; further ones are dropped and counted (`mirrored_requests_total`). One that is written at a backend copies what is meant for that backend, without the credential that the proxy shows it, beside those of the route."
})

export const RequestMirror = Form.pipe(
  Schema.decodeTo(Schema.Array(Schema.toType(Mirror)), {
    decode: SchemaGetter.transform((form: typeof Form.Type) => ("backend" in form ? [form] : form)),
    encode: SchemaGetter.transform((mirrors: ReadonlyArray<typeof Mirror.Type>) =>
      mirrors.length === 1 ? mirrors[0]! : mirrors
    )
  })
)

export const requestMirror = declared(RequestMirror, { places: ["route", "backend"] })
