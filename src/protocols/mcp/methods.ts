/** The methods of MCP that the relay knows: where each one goes and what in it names an item. */

/** What rules, log and metrics tell apart. */
export type ItemKind = "tool" | "prompt" | "resource" | "task"

/** How one method is routed. */
export interface MethodRule {
  /** Which targets get it: all of them, the owner of one item, or none but through the session (`handshake`). */
  readonly to: "handshake" | "all" | "listen" | "name" | "uri" | "reference" | "task"
  /** Kind of the item that authorization decides about. */
  readonly item: ItemKind | undefined
  /** For lists: the member of the result that holds the items, and the member of an item that names it. */
  readonly list: { readonly items: string; readonly key: "name" | "uri" | "uriTemplate" } | undefined
  /** Kind in log and metrics, where it differs from `item` or the method has no single item. */
  readonly resourceType: ItemKind | "templates" | undefined
  /** Part of revision 2026-07-28. */
  readonly modern: boolean
  /** Modern clients must know that the result may not be cached by anyone else. */
  readonly cacheable: boolean
}

const rule = (to: MethodRule["to"], more: Partial<MethodRule> = {}): MethodRule => ({
  to,
  item: undefined,
  list: undefined,
  resourceType: more.item,
  modern: true,
  cacheable: false,
  ...more
})

const list = (item: ItemKind, items: string, key: "name" | "uri" | "uriTemplate", resourceType?: "templates") =>
  rule("all", { item, list: { items, key }, resourceType: resourceType ?? item, cacheable: true })

const rules = new Map<string, MethodRule>([
  ["initialize", rule("handshake", { modern: false })],
  ["server/discover", rule("all", { cacheable: true })],
  ["ping", rule("all", { modern: false })],
  ["logging/setLevel", rule("all", { modern: false })],
  ["tools/list", list("tool", "tools", "name")],
  ["prompts/list", list("prompt", "prompts", "name")],
  ["resources/list", list("resource", "resources", "uri")],
  ["resources/templates/list", list("resource", "resourceTemplates", "uriTemplate", "templates")],
  ["tools/call", rule("name", { item: "tool" })],
  ["prompts/get", rule("name", { item: "prompt" })],
  ["resources/read", rule("uri", { item: "resource", cacheable: true })],
  ["resources/subscribe", rule("uri", { item: "resource", modern: false })],
  ["resources/unsubscribe", rule("uri", { item: "resource", modern: false })],
  ["completion/complete", rule("reference")],
  ["subscriptions/listen", rule("listen")],
  ["tasks/get", rule("task", { item: "task" })],
  ["tasks/update", rule("task", { item: "task" })],
  ["tasks/cancel", rule("task", { item: "task" })],
  ["tasks/result", rule("task", { item: "task", modern: false })]
])

const notifications = new Set(
  ["initialized", "cancelled", "progress", "message", "roots/list_changed", "elicitation/complete", "tasks/status"].map(
    (name) => `notifications/${name}`
  )
)

/** Whether any known revision has a request or notification of that name. */
export const isKnownMethod = (method: string): boolean => rules.has(method) || notifications.has(method)

/** `undefined` for a method that no known revision has. */
export const methodRule = (method: string): MethodRule | undefined => rules.get(method)
