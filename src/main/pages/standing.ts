/** How far the policies and terminals of this build have come, in words for the reference pages. */
import type { Standing } from "../../../spec/generate/reference.ts"
import { connections, listeners, policies, terminals } from "../../../stages/registry.ts"
import type { Maturity } from "../../pipeline/stage.ts"

const hardened: Readonly<Record<Maturity["untrusted"], string>> = {
  client: "hardened against clients",
  "client+backend": "hardened against clients and backends",
  none: "not hardened against anybody"
}

const words = ({ status, untrusted }: Maturity): string => `${status}, ${hardened[untrusted]}`

/** Policies that no stage applies, and terminals do. */
const ofTerminals = terminals.flatMap(({ name, applies = [] }) =>
  applies.map((policy) => [policy, `applied by \`${name}\` backends alone`] as const)
)

export const standing: Standing = {
  policies: Object.fromEntries([
    ...ofTerminals,
    ...[...policies.policies, ...connections, ...listeners].map(
      ({ name, maturity }) => [name, words(maturity)] as const
    )
  ]),
  backends: Object.fromEntries(terminals.map(({ name, maturity }) => [name, words(maturity)]))
}
