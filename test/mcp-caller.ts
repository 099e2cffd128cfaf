/** Calls of an MCP target straight over connections, for tests of what speaks MCP with it. */
import { HeaderList } from "../src/http/header-list.ts"
import type { McpCaller } from "../src/protocols/mcp/http/contract.ts"
import type { Upstream } from "../src/services/upstreams.ts"

export const callerTo = (upstream: Upstream, origin: string): McpCaller => ({
  origin,
  call: ({ method, path, headers, body }, repeatable) =>
    upstream.send({
      method,
      pathAndQuery: path,
      authority: new URL(origin).host,
      headers: new HeaderList(headers),
      body,
      repeatable,
      timeout: undefined,
      upgrade: undefined,
      informer: undefined
    })
})
