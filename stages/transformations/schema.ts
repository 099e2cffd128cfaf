/** The wire shape of transformations: changes of messages by expressions. Connections of policies share it. */
export { Transformations } from "../../spec/connection/transformation.ts"
