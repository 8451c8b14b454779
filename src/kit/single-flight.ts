// Single flight: callers that ask for the same key while an answer is on its way share that one call.

/** The answer or error of a call goes to every caller that came while it ran; the next caller starts a new one. */
export function createSingleFlight<Result>(): (key: string, call: () => Promise<Result>) => Promise<Result> {
  const running = new Map<string, Promise<Result>>()
  return (key, call) => {
    const shared = running.get(key)
    if (shared) return shared
    const started = call().finally(() => running.delete(key))
    running.set(key, started)
    return started
  }
}
