/** The smallest backend that keeps connections: it answers every request head with the same body. */
import { createServer } from "node:net"

const port = Number(process.argv[2])

const [body, type] = [process.argv[3]!, process.argv[4]!]
const answer = `HTTP/1.1 200 OK\r\ncontent-type: ${type}\r\nserver: origin\r\ndate: Fri, 01 Jan 2100 00:00:00 GMT\r\ncontent-length: ${body.length}\r\n\r\n${body}`

createServer({ noDelay: true }, (socket) => {
  let pending = ""
  let toSkip = 0
  socket.on("error", () => {})
  socket.on("data", (chunk: Buffer) => {
    pending += chunk.toString("latin1")
    for (;;) {
      if (toSkip > pending.length) {
        toSkip -= pending.length
        pending = ""
        return
      }
      pending = pending.slice(toSkip)
      toSkip = 0
      const end = pending.indexOf("\r\n\r\n")
      if (end < 0) return
      const length = /\r\ncontent-length: *([0-9]+)/i.exec(pending.slice(0, end + 2))?.[1]
      toSkip = end + 4 + Number(length ?? 0)
      socket.write(answer, "latin1")
    }
  })
}).listen(port, "127.0.0.1")
