// An identity provider to play with. It signs whatever claims it is sent, for the issuer at the path that they are sent to:
//   node examples/servers/issuer.mjs 9100
//   curl http://localhost:9100/realms/tools -d '{"sub": "ada", "aud": "tools"}'
// What is asked for with GET is its metadata, at a path with `.well-known` of a server, or else its keys.
import { generateKeyPairSync, sign } from "node:crypto"
import { createServer } from "node:http"

const [port] = process.argv.slice(2)
const origin = `http://localhost:${port}`
const { publicKey, privateKey } = generateKeyPairSync("ec", { namedCurve: "P-256" })
const keys = [{ ...publicKey.export({ format: "jwk" }), kid: "example", alg: "ES256", use: "sig" }]

const part = (value) => Buffer.from(JSON.stringify(value)).toString("base64url")
const tokenOf = (claims) => {
  const signed = `${part({ alg: "ES256", kid: "example", typ: "JWT" })}.${part(claims)}`
  const signature = sign("sha256", Buffer.from(signed), { key: privateKey, dsaEncoding: "ieee-p1363" })
  return `${signed}.${signature.toString("base64url")}`
}

const metadataOf = (issuer) => ({
  issuer,
  authorization_endpoint: `${issuer}/authorize`,
  token_endpoint: issuer,
  jwks_uri: `${issuer}/keys`,
  response_types_supported: ["code"]
})

createServer((request, response) => {
  const path = request.url.replace(/\/$/, "")
  let body = ""
  request.setEncoding("utf8").on("data", (text) => {
    body += text
  })
  request.on("end", () => {
    if (request.method === "POST") {
      const now = Math.floor(Date.now() / 1000)
      return response.end(tokenOf({ iss: `${origin}${path}`, iat: now, exp: now + 3600, ...JSON.parse(body || "{}") }))
    }
    const [, before, name, after] =
      /^(.*)\/\.well-known\/(oauth-authorization-server|openid-configuration)(.*)$/.exec(path) ?? []
    response.setHeader("content-type", "application/json")
    response.end(JSON.stringify(name === undefined ? { keys } : metadataOf(`${origin}${before}${after}`)))
  })
}).listen(Number(port), "localhost", () => console.log(`issuer at ${origin}`))
