/** How a call of gRPC that passes has ended, for logs, spans and expressions: its head says it, or the trailers behind its answer. */
import { isSource, PassingBody } from "../../http/body.ts"
import { isGrpc } from "../../http/grpc.ts"
import type { HeaderList } from "../../http/header-list.ts"
import type { Answer } from "../../http/message.ts"

/** Who remembers it. */
interface Remembering {
  grpcStatus: number | undefined
}

export const grpcStatusOf = (headers: HeaderList | undefined): number | undefined => {
  const said = headers?.get("grpc-status")
  return said !== undefined && digits.test(said) ? Number(said) : undefined
}

const digits = /^[0-9]{1,4}$/

/** Sees to it that it is remembered, as soon as it is known. */
export const rememberGrpcStatus = (who: Remembering, answer: Answer): void => {
  if (!isGrpc(answer.headers)) return
  who.grpcStatus = grpcStatusOf(answer.headers)
  if (isSource(answer.body)) answer.body = new RememberedEnd(answer.body, who)
}

class RememberedEnd extends PassingBody {
  readonly #who: Remembering

  constructor(source: Answer["body"], who: Remembering) {
    super(source)
    this.#who = who
  }
  data(chunk: Uint8Array): boolean {
    return this.sink!.data(chunk)
  }
  override end(trailers?: HeaderList): void {
    this.#who.grpcStatus = grpcStatusOf(trailers) ?? this.#who.grpcStatus
    super.end(trailers)
  }
}
