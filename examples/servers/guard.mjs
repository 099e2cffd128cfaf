// A guard for prompts and answers: lets pass whatever it is asked about, and writes down what that was. About answers it speaks only
// with who shows the key in GUARD_TOKEN. One server for each port that is named:
//   GUARD_TOKEN=guard-key node examples/servers/guard.mjs 9002 9003
import { createServer } from "node:http"

const key = `Bearer ${process.env.GUARD_TOKEN}`

for (const port of process.argv.slice(2))
  createServer((request, response) => {
    const { url, headers } = request
    let body = ""
    request.setEncoding("utf8").on("data", (text) => {
      body += text
    })
    request.on("end", () => {
      const isKnown = url !== "/response" || headers.authorization === key
      console.log(`${url} ${isKnown ? body : "by a stranger"}`)
      response.setHeader("content-type", "application/json")
      response.end(JSON.stringify({ action: isKnown ? {} : { status_code: 403, body: "Who asks?" } }))
    })
  }).listen(Number(port), "localhost", () => console.log(`guard at http://localhost:${port}`))
