// What bundles have of `undici`: the parts that are used. Its own entry loads all of it at once, a second `fetch` and
// WebSockets included, which takes longer than starting the runtime.
import request from "undici/lib/api/api-request.js"
import buildConnector from "undici/lib/core/connect.js"
import Agent from "undici/lib/dispatcher/agent.js"
import Dispatcher from "undici/lib/dispatcher/dispatcher.js"

Dispatcher.prototype.request = request

export { Agent, buildConnector }
// Effect's own module of that name has it.
export default { Agent, buildConnector }
