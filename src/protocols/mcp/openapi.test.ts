import { assert, describe, it } from "@effect/vitest"
import { Result } from "effect"
import { parse } from "yaml"
import { type OpenApiOperation, openApiInterface, requestOf, resultOf } from "./openapi.ts"
import { openApiTransport } from "./openapi-transport.ts"

const petstore = `
openapi: 3.0.3
info: { title: Pet store, version: 1.2.3 }
servers: [{ url: "https://pets.example/api/v2/?x#y" }]
paths:
  /pets:
    get:
      operationId: listPets
      summary: List pets
      description: All pets, a page at a time.
      parameters:
        - { name: limit, in: query, description: How many, schema: { type: integer } }
        - { name: tag, in: query, required: true, schema: { type: array, items: { type: string } } }
        - { name: X-Trace, in: header, schema: { type: string } }
        - { name: Host, in: header, schema: { type: string } }
    post:
      operationId: createPet
      summary: "Create a pet, with a summary that is longer than sixty-four bytes: ääääää"
      requestBody: { $ref: "#/components/requestBodies/Pet" }
  /pets/{petId}/photos/{photo}:
    parameters:
      - { $ref: "#/components/parameters/petId" }
      - { name: photo, in: path, required: true, schema: { type: string } }
      - { name: session, in: cookie, schema: { type: string } }
    put:
      operationId: putPhoto
      parameters: [{ name: photo, in: path, required: true, schema: { type: integer } }]
      requestBody: { content: { application/octet-stream: {}, text/plain: {} } }
components:
  parameters:
    petId: { name: petId, in: path, required: true, description: Which, schema: { type: string } }
  requestBodies:
    Pet: { required: true, content: { application/json: { schema: { $ref: "#/components/schemas/Pet" } } } }
  schemas:
    Pet:
      type: object
      properties: { name: { type: string }, parent: { $ref: "#/components/schemas/Pet" } }
`

const read = (text: string) => openApiInterface(parse(text))
const operations = (text: string): ReadonlyArray<OpenApiOperation> => Result.getOrThrow(read(text)).operations
const [listPets, createPet, putPhoto] = operations(petstore) as [OpenApiOperation, OpenApiOperation, OpenApiOperation]

describe("an OpenAPI document", () => {
  it("becomes one tool for each operation", () => {
    const { title, version } = Result.getOrThrow(read(petstore))
    assert.deepStrictEqual([title, version], ["Pet store", "1.2.3"])
    assert.deepStrictEqual(
      [listPets, createPet, putPhoto].map(({ tool }) => tool),
      [
        {
          name: "listPets",
          title: "List pets",
          description: "All pets, a page at a time.",
          inputSchema: {
            type: "object",
            properties: {
              header: {
                type: "object",
                properties: { "X-Trace": { type: "string" }, Host: { type: "string" } }
              },
              query: {
                type: "object",
                properties: {
                  limit: { type: "integer", description: "How many" },
                  tag: { type: "array", items: { type: "string" } }
                },
                required: ["tag"]
              }
            },
            required: ["query"]
          }
        },
        {
          name: "createPet",
          title: "Create a pet, with a summary that is longer than sixty-four byte",
          description: "Create a pet, with a summary that is longer than sixty-four bytes: ääääää",
          inputSchema: {
            type: "object",
            properties: {
              // A schema that contains itself is open where it does.
              body: { type: "object", properties: { name: { type: "string" }, parent: {} } }
            },
            required: ["body"]
          }
        },
        {
          name: "putPhoto",
          description: "putPhoto",
          inputSchema: {
            type: "object",
            properties: {
              body: { type: "string", format: "byte" },
              path: {
                type: "object",
                // The operation's own parameter counts, in the place of the path's.
                properties: { petId: { type: "string", description: "Which" }, photo: { type: "integer" } },
                required: ["petId", "photo"]
              }
            },
            required: ["path"]
          }
        }
      ]
    )
  })

  it("has the path of its one server in front of each request", () => {
    const table: ReadonlyArray<readonly [servers: string, path: string]> = [
      ["[]", "/x"],
      ['[{ url: "http://h" }]', "/x"],
      ['[{ url: "http://h/" }]', "/x"],
      ['[{ url: "//h/api/" }]', "/api/x"],
      ['[{ url: "/v1/" }]', "/v1/x"],
      ['[{ url: "v1" }]', "/v1/x"]
    ]
    for (const [servers, path] of table) {
      const document = `{ openapi: 3.0.0, servers: ${servers}, paths: { /x: { get: { operationId: x } } } }`
      assert.strictEqual(operations(document)[0]?.path, path, servers)
    }
  })

  it("that cannot be tools says why", () => {
    const paths = (item: string, more = "") => `{ openapi: 3.0.0, paths: { /x: ${item} }${more} }`
    const parameter = (text: string) => paths(`{ get: { operationId: x, parameters: [${text}] } }`)
    const table: ReadonlyArray<readonly [document: string, problem: RegExp]> = [
      ["[]", /expected an object/],
      ["{ swagger: '2.0' }", /expected an OpenAPI 3 document/],
      [paths("{ get: {} }"), /operation_id is required for \/x/],
      [paths("{ get: { operationId: x }, put: { operationId: x } }"), /operationId x stands twice/],
      [paths("{ $ref: '#/y' }"), /by reference is not supported/],
      [paths("{}", ", servers: [{ url: /a }, { url: /b }]"), /multiple servers are not supported/],
      [parameter("{ name: c, in: cookie }"), /cookie parameter c is not supported/],
      [parameter("{ name: c, in: query, content: {} }"), /has content/],
      [parameter("{ in: query }"), /without a name/],
      [parameter("{ name: c, in: body }"), /no known place/],
      [parameter("{ $ref: '#/components/parameters/c' }"), /names nothing/],
      [parameter("{ $ref: 'other.yaml#/c' }"), /is not in this document/]
    ]
    for (const [document, problem] of table) {
      const found = read(document)
      assert.match(Result.isFailure(found) ? found.failure : "no problem", problem, document)
    }
  })

  it("that doubles with every reference does not fill the memory", () => {
    const schemas = Object.fromEntries(
      Array.from({ length: 40 }, (_, i) => {
        const next = { $ref: `#/components/schemas/S${i + 1}` }
        return [`S${i}`, { properties: { a: next, b: next } }]
      })
    )
    const body = { content: { "application/json": { schema: { $ref: "#/components/schemas/S0" } } } }
    const found = openApiInterface({
      openapi: "3.0.0",
      paths: { "/x": { post: { operationId: "x", requestBody: body } } },
      components: { schemas: { ...schemas, S40: {} } }
    })
    assert.match(Result.isFailure(found) ? found.failure : "", /too large/)
  })

  it("that has no end of depth is refused", () => {
    const body = (schema: unknown) => ({ content: { "application/json": { schema } } })
    const refusal = (requestBody: unknown, chain = {}) => {
      const found = openApiInterface({
        openapi: "3.0.0",
        paths: { "/x": { post: { operationId: "x", requestBody } } },
        chain
      })
      return Result.isFailure(found) ? found.failure : "no problem"
    }
    const nested = Array.from({ length: 20_000 }).reduce<object>((items) => ({ items }), {})
    const chain = Object.fromEntries(Array.from({ length: 20_000 }, (_, i) => [i, { $ref: `#/chain/${i + 1}` }]))
    assert.match(refusal(body(nested)), /too deep/)
    assert.match(refusal({ $ref: "#/chain/0" }, chain), /too deep/)
  })
})

describe("a call of a tool", () => {
  const request = (operation: OpenApiOperation, args: unknown) => Result.getOrThrow(requestOf(operation, args))
  const problem = (operation: OpenApiOperation, args: unknown) => {
    const made = requestOf(operation, args)
    return Result.isFailure(made) ? made.failure : undefined
  }

  it("fills the path, the query, the headers and the body", () => {
    const query = { limit: 5, tag: ["a b", "c&d"], empty: null, yes: true, nested: { no: 1 } }
    assert.deepStrictEqual(
      request(listPets, { query, header: { "X-Trace": "t", Host: "evil", Other: "no", "x-trace": "no" } }),
      {
        method: "GET",
        path: "/api/v2/pets?limit=5&tag=a%20b&tag=c%26d&empty&yes=true",
        headers: ["accept", "application/json", "x-trace", "t"],
        body: undefined
      }
    )
    assert.deepStrictEqual(request(createPet, { body: { name: "Rex" } }), {
      method: "POST",
      path: "/api/v2/pets",
      headers: ["accept", "application/json", "content-type", "application/json"],
      body: '{"name":"Rex"}'
    })
    const photo = request(putPhoto, { path: { petId: "a/b", photo: 7 }, body: "AQID" })
    assert.strictEqual(photo.path, "/api/v2/pets/a%2Fb/photos/7")
    assert.deepStrictEqual(photo.body, Buffer.from([1, 2, 3]))
    assert.include(photo.headers, "application/octet-stream")
  })

  it("cannot leave its path, nor break a header", () => {
    const path = (petId: unknown) => ({ path: { petId, photo: 1 } })
    assert.strictEqual(request(putPhoto, path("../../x?y#z")).path, "/api/v2/pets/..%2F..%2Fx%3Fy%23z/photos/1")
    assert.strictEqual(request(putPhoto, path("{photo}")).path, "/api/v2/pets/%7Bphoto%7D/photos/1")
    // Half a character is text for JSON, but none that a URI can hold.
    assert.strictEqual(request(putPhoto, path("\ud800")).path, "/api/v2/pets/%EF%BF%BD/photos/1")
    assert.strictEqual(request(listPets, { query: { "\udfff": "\ud800" } }).path, "/api/v2/pets?%EF%BF%BD=%EF%BF%BD")
    for (const dots of [".", ".."]) assert.strictEqual(problem(putPhoto, path(dots)), "a path parameter is . or ..")
    for (const missing of [undefined, null, {}, ["a"]])
      assert.strictEqual(problem(putPhoto, path(missing)), "a path parameter is missing")
    for (const header of ["a\r\nb: c", "a\0", "日"])
      assert.match(problem(listPets, { header: { "X-Trace": header } }) ?? "", /X-Trace/)
    for (const nonsense of [undefined, null, 1, "x", []])
      assert.strictEqual(request(listPets, nonsense).path, "/api/v2/pets")
  })
})

describe("an answer", () => {
  it("is a result, structured where it can be", () => {
    const table: ReadonlyArray<readonly [status: number, text: string, structured: unknown, isError?: boolean]> = [
      [200, '{"a":1}', { a: 1 }],
      [200, "[1]", { data: [1] }],
      [201, "7", { data: 7 }],
      [200, "plain", { code: 200, message: "plain" }],
      [404, '{"no":"pet"}', { no: "pet" }, true],
      [204, "", { code: 204, message: "" }]
    ]
    for (const [status, text, structured, isError] of table)
      assert.deepStrictEqual(resultOf(status, text), {
        content: [{ type: "text", text: JSON.stringify(structured) }],
        structuredContent: structured,
        ...(isError === undefined ? {} : { isError })
      } as never)
    assert.deepStrictEqual(resultOf(200, "null"), { content: [{ type: "text", text: "null" }] })
  })
})

describe("a handshake", () => {
  it("agrees to a version that has one, and offers the newest to all others", () => {
    const agreed = (protocolVersion: unknown) => {
      const heard: Array<string> = []
      const transport = openApiTransport(
        { ask: () => assert.fail("nothing is asked") },
        { api: () => Result.getOrThrow(read(petstore)), load: () => assert.fail("it is there") },
        { onMessage: (text) => heard.push(text), onOpen: () => {}, onEnd: () => {}, onDeath: () => {} }
      )
      const message = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "initialize", params: { protocolVersion } })
      transport.send({ message, stream: 1, expectsAnswer: true, method: "initialize", headers: [] })
      return JSON.parse(heard[0]!).result.protocolVersion
    }
    for (const version of ["2024-11-05", "2025-11-25"]) assert.strictEqual(agreed(version), version)
    for (const other of ["2026-07-28", "9999-01-01", "x", 1, undefined]) assert.strictEqual(agreed(other), "2025-11-25")
  })
})
