/** A backend of connections: drops what it is sent, up to the end; to whoever asks for an upgrade it says what it is sent. */
import { createServer, type Socket } from "node:net"
import { ignore } from "../src/services/contained.ts"

/** The answer to the key that every request of the measurement has (RFC 6455 1.3). */
const switching =
  "HTTP/1.1 101 Switching Protocols\r\nupgrade: websocket\r\nconnection: upgrade\r\n" +
  "sec-websocket-accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n\r\n"

const serve = (socket: Socket) => {
  socket.on("error", ignore).once("data", (first: Buffer) => {
    if (!first.toString("latin1", 0, 4).startsWith("GET ")) return
    socket.write(switching)
    socket.on("data", (bytes) => socket.write(bytes))
  })
  socket.on("end", () => socket.end())
}

createServer({ allowHalfOpen: true, noDelay: true }, serve).listen(Number(process.argv[2]), "127.0.0.1")
