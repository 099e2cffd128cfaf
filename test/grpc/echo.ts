/** A server of gRPC, on Google's own implementation, whose messages are texts; what it does is what a text says. */

import { create, fromBinary, toBinary } from "@bufbuild/protobuf"
import { type StringValue, StringValueSchema } from "@bufbuild/protobuf/wkt"
import {
  Metadata,
  Server,
  ServerCredentials,
  type ServerDuplexStream,
  type ServerUnaryCall,
  type sendUnaryData
} from "@grpc/grpc-js"
import { Effect } from "effect"
import type { GrpcMethod } from "../../src/pipeline/grpc/method.ts"

export const encode = (value: string): Uint8Array => toBinary(StringValueSchema, create(StringValueSchema, { value }))
export const decode = (bytes: Uint8Array): string => (fromBinary(StringValueSchema, bytes) as StringValue).value

export const method = (name: string): GrpcMethod<string, string> => ({ path: `/test.Echo/${name}`, encode, decode })

const definition = (name: string, streams: boolean) => ({
  path: `/test.Echo/${name}`,
  requestStream: streams,
  responseStream: streams,
  requestSerialize: (value: string) => Buffer.from(encode(value)),
  requestDeserialize: decode,
  responseSerialize: (value: string) => Buffer.from(encode(value)),
  responseDeserialize: decode
})

export const service = { Say: definition("Say", false), Talk: definition("Talk", true) }

export interface EchoServer {
  readonly port: number
  /** What it was told by whom, and the calls that their clients gave up. */
  readonly heard: Array<{ readonly metadata: Readonly<Record<string, unknown>>; readonly deadline: number }>
  readonly cancelled: Array<string>
  readonly whenCancelled: Promise<void>
}

const note = (heard: EchoServer["heard"], call: { readonly metadata: Metadata; getDeadline(): Date | number }) =>
  heard.push({ metadata: call.metadata.getMap(), deadline: Number(call.getDeadline()) })

export const echoServer: Effect.Effect<EchoServer, never, import("effect").Scope.Scope> = Effect.map(
  Effect.acquireRelease(
    Effect.promise(async () => {
      const heard: EchoServer["heard"] = []
      const cancelled: Array<string> = []
      const { promise, resolve } = Promise.withResolvers<void>()
      const server = new Server()
      server.addService(service, {
        Say: (call: ServerUnaryCall<string, string>, answer: sendUnaryData<string>) => {
          note(heard, call)
          call.on("cancelled", () => {
            cancelled.push(call.request)
            resolve()
          })
          const [word = "", rest = ""] = call.request.split(":")
          const trailers = new Metadata()
          trailers.set("x-trailer", "behind")
          trailers.set("x-bytes-bin", Buffer.from([0, 255]))
          if (word === "fail") answer({ code: Number(rest), details: "größer, 100%", metadata: trailers })
          else if (word === "large") answer(null, "a".repeat(Number(rest)), trailers)
          else if (word === "wait") return
          else {
            const headers = new Metadata()
            headers.set("x-header", "before")
            call.sendMetadata(headers)
            answer(null, `${call.request}!`, trailers)
          }
        },
        Talk: (call: ServerDuplexStream<string, string>) => {
          note(heard, call)
          call.on("cancelled", () => {
            cancelled.push("talk")
            resolve()
          })
          call.on("data", (text: string) => {
            if (text.startsWith("fail:")) call.emit("error", { code: Number(text.slice(5)), details: "no" })
            else if (text.startsWith("many:"))
              for (let i = 0; i < Number(text.slice(5)); i++) call.write(`${i} ${"b".repeat(10_000)}`)
            else call.write(`${text}!`)
          })
          call.on("end", () => call.end())
        }
      })
      const port = await new Promise<number>((done, reject) =>
        server.bindAsync("127.0.0.1:0", ServerCredentials.createInsecure(), (error, bound) =>
          error === null ? done(bound) : reject(error)
        )
      )
      return { server, echo: { port, heard, cancelled, whenCancelled: promise } }
    }),
    ({ server }) => Effect.sync(() => server.forceShutdown())
  ),
  ({ echo }) => echo
)
