/** What an answer says of its endpoint, where nobody says otherwise. */

/** An answer, as far as it is judged by. */
export interface Judged {
  readonly status: number
  readonly headers: { readonly get: (name: string) => string | undefined }
}

/** A status of 500 or more, or a failed gRPC status. */
export const isFailure = ({ status, headers }: Judged): boolean => {
  if (status >= 500) return true
  const grpc = headers.get("grpc-status")
  return grpc !== undefined && grpc !== "0"
}
