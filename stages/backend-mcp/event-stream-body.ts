/** An event stream of the MCP relay as the body of an answer. */
import { Buffer } from "node:buffer"
import type { BodySink, BodySource } from "../../src/policy/policy.ts"
import type { McpEventStream } from "../../src/protocols/mcp/contract.ts"

export class EventStreamBody implements BodySource {
  readonly #stream: McpEventStream
  constructor(stream: McpEventStream) {
    this.#stream = stream
  }
  start(sink: BodySink): void {
    this.#stream.start({
      write: (text) => sink.data(Buffer.from(text, "utf8")),
      end: () => sink.end()
    })
  }
  resume(): void {
    this.#stream.resume()
  }
  cancel(): void {
    this.#stream.cancel()
  }
}
