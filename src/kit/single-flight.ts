// Single flight: concurrent callers with the same key share one call.

/**
 * Every caller that arrives while the call runs gets its result or its error; the next caller starts a new call. Calls are
 * shared within one scope, such as a database handle, so that two services in one process stay apart.
 */
export function createSingleFlight<Result>(): (
  scope: object,
  key: string,
  call: () => Promise<Result>,
) => Promise<Result> {
  const scopes = new WeakMap<object, Map<string, Promise<Result>>>()
  return (scope, key, call) => {
    const running = scopes.get(scope) ?? new Map<string, Promise<Result>>()
    scopes.set(scope, running)
    const shared = running.get(key)
    if (shared) return shared
    const started = call().finally(() => running.delete(key))
    running.set(key, started)
    return started
  }
}
