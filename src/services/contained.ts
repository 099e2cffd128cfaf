/**
 * Callbacks that node and libraries call. What one of them throws finds nobody above it and would end the process, so it
 * ends what the callback belongs to and nothing else. An architecture test lets no other callback be registered.
 */

/** What callbacks belong to: a connection, a child process, a stream. */
export interface Container {
  /** Ends it, and tells of what was thrown. */
  readonly contain: (cause: unknown) => void
}

/**
 * Makes callbacks for any number of containers, each named by the first argument. Whoever passes the container itself
 * (`setImmediate(next, this)`) makes no closure.
 */
export const containing =
  <C extends Container, A extends ReadonlyArray<unknown>>(callback: (container: C, ...args: A) => void) =>
  (container: C, ...args: A): void => {
    try {
      callback(container, ...args)
    } catch (cause) {
      contain(container, cause)
    }
  }

/** Makes a callback of one container. */
export const contained =
  <A extends ReadonlyArray<unknown>>(container: Container, callback: (...args: A) => void) =>
  (...args: A): void => {
    try {
      callback(...args)
    } catch (cause) {
      contain(container, cause)
    }
  }

/** Makes a callback that is for another container each time; `of` finds it when it must be told. */
export const containedBy =
  <A extends ReadonlyArray<unknown>>(of: (...args: A) => Container | undefined, callback: (...args: A) => void) =>
  (...args: A): void => {
    try {
      callback(...args)
    } catch (cause) {
      contain(of(...args), cause)
    }
  }

/** Where there is nothing to end and nobody to tell: node says it on standard error, and goes on. */
export const nobody: Container = {
  contain: (cause) => process.emitWarning(cause instanceof Error ? cause : String(cause))
}

const contain = (container: Container | undefined, cause: unknown): void => {
  try {
    if (container === undefined) nobody.contain(cause)
    else container.contain(cause)
  } catch (further) {
    nobody.contain(further)
  }
}

/** For what has nothing to end. */
export const ignore = (): void => {}
