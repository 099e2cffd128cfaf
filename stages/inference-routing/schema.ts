/** The wire shape of inferenceRouting: an endpoint picker chooses among the endpoints of a service. */
import { Schema } from "effect"
import { defaulted, object, required } from "../../spec/field.ts"
import { declared } from "../../spec/standalone/policies.ts"
import { SimpleBackend } from "../../spec/target.ts"

export const InferenceRouting = object(
  "InferenceRouting",
  "Lets an endpoint picker choose the endpoint of a service.",
  {
    endpointPicker: required(SimpleBackend, "The endpoint picker."),
    destinationMode: defaulted(
      Schema.Literals(["validated", "passthrough"]),
      "validated",
      "Whether the choice must be an endpoint of the service."
    )
  }
)

export const inferenceRouting = declared(InferenceRouting, { places: ["backend"], backends: ["service"] })
