/**
 * Where the source of the package is, as npm's statement of provenance has it: npm takes a package only when its `repository` is
 * the one whose workflow publishes it. There is no public one yet, so `package.json` names none, and nothing can be released.
 */

/** What is wrong with the `repository` of a `package.json` for a release from `source`, an owner and a name at GitHub. */
export const repositoryProblem = (repository: unknown, source: string): string | undefined => {
  const wanted = `git+https://github.com/${source}.git`
  const url = typeof repository === "object" && repository !== null && "url" in repository ? repository.url : repository
  if (url === wanted) return undefined
  const found = url === undefined ? "names no repository" : `says that its repository is ${JSON.stringify(url)}`
  return `package.json ${found}; to publish from ${source}, write "repository": { "type": "git", "url": "${wanted}" }`
}
