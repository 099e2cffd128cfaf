/** The wire shape of a dynamic backend: a part of the file. */
export { DynamicBackend } from "../../spec/standalone/backend.ts"
