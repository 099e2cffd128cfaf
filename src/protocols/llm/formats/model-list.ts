/** The answer to `GET /v1/models`. */

export type ModelList = {
  readonly data: ReadonlyArray<{
    readonly id: string
    readonly object: "model"
    readonly created: number
    readonly owned_by: "openai"
  }>
  readonly object: "list"
}

/** `created`: Unix seconds, the same for all. */
export const modelList = (ids: ReadonlyArray<string>, created: number): ModelList => ({
  data: ids.map((id) => ({ id, object: "model", created, owned_by: "openai" })),
  object: "list"
})
