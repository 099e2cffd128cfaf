/** Paths by which a conversation might be sent past the guards that look into it. */

/** Paths that a provider may take for those of a conversation. */
export const spellings: ReadonlyArray<string> = [
  "/chat/completions",
  "/v1/chat/completions;a=b",
  "/v1;a/chat/completions",
  "/chat/completions;a=b",
  "/v1/chat/completions%3f",
  "/v1/chat/completions%3fa=b",
  "/v1/chat/completions%23a",
  "/v1/chat/completions%3ba=b",
  "/v1/chat/completions/",
  "/v1//chat/completions",
  "/v1/chat/completions%2f",
  "/v1/chat%2fcompletions",
  "/v1/chat%252fcompletions",
  "/v1/chat%5ccompletions",
  "/v1/chat/completion%73",
  "/v1/chat/completion%2573",
  "/V1/Chat/Completions",
  "/v1/chat/./completions",
  "/v1/x/../chat/completions",
  "/v1/x/%2e%2e/chat/completions",
  "/v1/chat/completions%20",
  "/v1/chat/completions%00",
  "/v1/chat/completions.",
  "/v1/chat/completions;a:b",
  "/v1/completions",
  "/v1/responses/compact",
  "/v1/moderations",
  "/v1/anything",
  "/",
  "/messages",
  "/responses",
  "/model/m/converse",
  "/model/m/invoke-with-response-stream"
]

/** What is forwarded on purpose where configuration says so: no conversation to anybody. */
export const opened = new Set(["/v1/completions", "/v1/responses/compact", "/v1/moderations", "/v1/anything", "/"])

/** What guards do not read, sent to a provider whose every call goes to one path. */
export const elsewhere: ReadonlyArray<string> = ["/v1/embeddings", "/v1/rerank", "/v1/moderations"]
