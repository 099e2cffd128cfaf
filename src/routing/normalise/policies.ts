/** Policies as they stand in a file, with their paths. */
import type { Path } from "../../../spec/config/path.ts"
import { isConditional, type PolicySpecs } from "../../../spec/standalone/policies.ts"
import type { AttachedPolicy, Policies, PolicyBranch } from "../normalised.ts"

/** No policy at all. */
export const none: Policies = {}

const attach = (name: string, config: unknown, path: Path): AttachedPolicy => {
  if (!isConditional(config)) return { name, path, branches: [{ condition: undefined, config, path }] }
  const branches = config.branches.map(({ condition, policy }, index): PolicyBranch => {
    const at = [...path, "conditional", index]
    return {
      condition: condition === undefined ? undefined : { expression: condition, path: [...at, "condition"] },
      config: policy,
      path: at
    }
  })
  return { name, path, branches }
}

/** The policies among the keys of an object, be it an object of policies or a gateway that holds them beside its own fields. */
export const attached = (
  holder: object | undefined,
  path: Path,
  specs: PolicySpecs,
  wanted: (name: string) => boolean = () => true
): Policies => {
  if (holder === undefined) return none
  const policies: Record<string, AttachedPolicy> = {}
  for (const [name, config] of Object.entries(holder))
    if (Object.hasOwn(specs, name) && config !== undefined && wanted(name))
      policies[name] = attach(name, config, [...path, name])
  return policies
}

/** The policies of a route, parted into those of the route phase and those of its backends. */
export const onRoute = (holder: object | undefined, path: Path, specs: PolicySpecs) => ({
  policies: attached(holder, path, specs, (name) => specs[name]!.onRoute !== "backend"),
  backendPolicies: attached(holder, path, specs, (name) => specs[name]!.onRoute === "backend")
})

/** A policy that another part of the file stands for. */
export const synthetic = (name: string, config: unknown, path: Path, origins?: PolicyBranch["origins"]): Policies => {
  const branch: PolicyBranch = { condition: undefined, config, path, ...(origins === undefined ? {} : { origins }) }
  return { [name]: { name, path, branches: [branch] } }
}
