/** What `headgatectl validate` warns of: every code with its meaning. */

/** Every code with what it warns of. */
export const codes = {
  "serves-nothing": "a file without a listener: a start is possible, a reload refused",
  "never-matches": "a route that no request can reach",
  "replaced-route": "a route that another one with the same name replaces",
  "hostname-never-served": "a host name that none of the listeners of a route serves",
  "unknown-backend": "a reference to a backend that is not defined",
  "unknown-route-group": "a reference to a route group that is not defined",
  "unknown-target": "a policy whose target is not there",
  "delegation-cycle": "route groups that delegate to one another without end",
  "no-backend": "a route that can only answer with an error",
  "admin-exposed": "the admin interface where others than this machine reach it",
  "key-exposed": "the key of a provider, used for whoever reaches the port",
  "dynamic-exposed": "any destination, for whoever reaches the port",
  "optional-authentication": "authentication that lets requests without a credential pass because its mode is left out",
  "unguarded-path": "prompt guards beside paths that are forwarded past them",
  "raw-paths": "a decision by paths that stay as they are received",
  "unguarded-stream": "guards over answers that do not read streamed ones",
  "inline-credential": "a credential written out in the file",
  "insecure-tls": "a server whose certificate is not verified",
  "cors-any-origin-with-credentials": "credentials for every web page",
  "limit-never-binds": "a limit that can never refuse anything",
  "limit-refuses-all": "a limit that refuses everything",
  "limit-never-refills": "a limit that refuses everything once it is used up",
  "limit-too-long": "a long limit that a restart forgets",
  "rule-never-true": "a rule or a condition whose types tell that it never holds",
  "repeated-header": "a rule that does not see a header which a client sends twice",
  "single-endpoint": "a choice between endpoints where there is one",
  "model-never-used": "a model that no request can reach",
  deprecated: "a form that another one has replaced"
} as const

export type Code = keyof typeof codes
