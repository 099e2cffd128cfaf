/** The wire shape of inferenceRouting: an endpoint picker chooses among the endpoints of a service. */
import { Schema } from "effect"
import { declared, defaulted, object, required, SimpleBackend } from "../../spec/policy.ts"

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
