/**
 * The words of generated configurations and requests. Both draw from the same few, so that they meet: a generated rule is
 * about a header that generated requests have, and a generated key is presented now and then.
 */
import { createHash } from "node:crypto"
import { issuer, keySet, keySetFile, token } from "./issuer.ts"

/**
 * Texts and numbers by the name of a property of a configuration, or else by the identifier of a schema. Where there are
 * none, the schema alone decides.
 */
export type Vocabulary = Readonly<Record<string, ReadonlyArray<string | number>>>

/** Unlike any other text, so that it is found wherever it turns up. */
export const secrets = ["sealed-word-one", "sealed-word-two"] as const

const hashed = "hashed-word"
const tokens = [token({ sub: "ada", aud: "headgate" }), token({ exp: 1 }), token({ iss: "https://other.example" })]
const origins = ["https://page.example", "https://shop.example", "null"]
const names = ["x-a", "x-b", "cookie", "content-type"]
const values = ["1", "two words", ""]
const paths = ["/", "/a", "/a/b?x=1", "/mcp", "/a%20b/../c?key=sealed-word-one"]

/** What configurations of the proxy's own policies are made of. */
export const vocabulary: Vocabulary = {
  HeaderName: names,
  HeaderOrPseudo: [...names, ":method", ":path", ":authority", "host"],
  HeaderOrStatus: [...names, ":status"],
  HeaderValue: values,
  Origin: ["*", origins[0]!, "https://*.example"],
  Method: ["*", "GET", "POST"],
  Secret: secrets,
  KeyHash: [`sha256:${createHash("sha256").update(hashed).digest("hex")}`],
  ModelPattern: ["*", "small-*"],
  Duration: ["0", "5ms", "1h"],
  TimeLimit: ["5ms", "1h"],
  RefillInterval: ["1s", "1h"],
  HttpUrl: [issuer, "https://mcp.example/mcp"],
  CelExpression: [
    "true",
    "false",
    'request.method == "POST"',
    'request.path.startsWith("/a")',
    'request.headers["x-a"]',
    'request.headers["x-a"] == "1"',
    "1 / 0 == 1"
  ],
  issuer: [issuer],
  audiences: ["headgate"],
  jwks: [keySet],
  url: [`${issuer}/jwks`],
  file: [keySetFile],
  name: [...names, "key"],
  prefix: ["Bearer ", "/b"],
  full: ["b.example", "/b?y=2"],
  host: ["b.example", "b.example:8443"],
  maxBytes: [0, 4, "1Ki"],
  maxTokens: [1, 2, 1000],
  tokensPerFill: [1],
  body: ["", "said"]
}

/** What configurations of policies are made of that see no request. */
export const vocabularyOfConnections: Vocabulary = {
  ...vocabulary,
  CelExpression: [
    "true",
    "false",
    'source.address == "192.0.2.1"',
    'cidr("198.51.100.0/24").containsIP(source.address)',
    "source.port > 0",
    "1 / 0 == 1"
  ]
}

/** What requests are made of. */
export const spoken = {
  clients: ["192.0.2.1", "198.51.100.7"],
  methods: ["GET", "POST", "PUT", "DELETE", "OPTIONS", "HEAD"],
  hosts: ["a.example", "a.example:8080", "mcp.example"],
  paths: [...paths, "/.well-known/oauth-protected-resource/mcp", "/.well-known/oauth-authorization-server"],
  headers: {
    "x-a": values,
    "x-b": values,
    cookie: ["a=1; key=sealed-word-one", "key=other"],
    "content-type": ["application/json", "text/plain", "application/grpc"],
    origin: origins,
    "access-control-request-method": ["POST", ""],
    "access-control-request-headers": ["x-a, x-b"],
    authorization: [...secrets, hashed, "unknown", ...tokens].map((word) => `Bearer ${word}`),
    "sec-fetch-site": ["same-origin", "cross-site"]
  } as Readonly<Record<string, ReadonlyArray<string>>>,
  chunks: ["{}", '{"model":"small-1"}', "ä€🎈", "x".repeat(3000), ""]
}
