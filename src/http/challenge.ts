/** The challenge of a 401 (RFC 9110 11.6.1): the scheme of the credential that is wanted, and what there is to know of it. */

/** Realm of every challenge whose policy names none. */
export const defaultRealm = "Restricted"

/** `Bearer realm="Restricted", error="invalid_token"`. What a header cannot carry stands there as a question mark. */
export const challenge = (scheme: string, parameters: Readonly<Record<string, string>>): string =>
  `${scheme} ${Object.entries(parameters)
    .map(([name, value]) => `${name}="${value.replace(/[^ -~]/g, "?").replace(/["\\]/g, "\\$&")}"`)
    .join(", ")}`
