/** The fixture as a child process. */
import { StdioServerTransport } from "@modelcontextprotocol/sdk/server/stdio.js"
import { makeFixture } from "./fixture-features.ts"

await makeFixture().connect(new StdioServerTransport() as never)
