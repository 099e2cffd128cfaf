// A backend to look at: answers every request with what reached it, as JSON. One server for each port that is named:
//   node examples/servers/echo.mjs 9001 9002
import { createServer } from "node:http"

for (const port of process.argv.slice(2))
  createServer((request, response) => {
    const { method, url, headers } = request
    let body = ""
    request.setEncoding("utf8").on("data", (text) => {
      body += text
    })
    request.on("end", () => {
      response.setHeader("content-type", "application/json")
      response.end(JSON.stringify({ port: Number(port), method, path: url, headers, body }))
    })
  }).listen(Number(port), "localhost", () => console.log(`echo at http://localhost:${port}`))
