/** The smallest proxy of bytes that Node can be: what connections that are passed on are measured against. */
import { connect, createServer } from "node:net"
import { ignore } from "../src/services/contained.ts"

const [port, upstream] = [Number(process.argv[2]), Number(process.argv[3])]

createServer({ allowHalfOpen: true, noDelay: true }, (client) => {
  const backend = connect({ port: upstream, host: "127.0.0.1", allowHalfOpen: true, noDelay: true })
  client.on("error", ignore).pipe(backend)
  backend.on("error", ignore).pipe(client)
}).listen(port, "127.0.0.1")
