// Failpoints that a test sets one by one in a service of its own process: whoever passes next throws, or hangs until the test
// lets it go on.

import {
  createFailpoints,
  type Failpoint,
  type FailpointAction,
  type Failpoints,
} from '../../src/kit/failpoints.ts'

export interface Traps extends Failpoints {
  /** The next who passes there stumbles. Resolves when somebody did, with what lets one that hangs go on. */
  set(point: Failpoint, action: Exclude<FailpointAction, 'kill'>): Promise<() => void>
}

interface Trap {
  action: FailpointAction
  spring(release: () => void): void
}

export function createTraps(): Traps {
  const traps = new Map<Failpoint, Trap[]>()
  return {
    async pass(point) {
      const trap = traps.get(point)?.shift()
      if (!trap) return
      const { promise, resolve } = Promise.withResolvers<void>()
      trap.spring(resolve)
      await createFailpoints(new Map([[point, trap.action]]), () => promise).pass(point)
    },
    set: (point, action) =>
      new Promise((spring) => {
        traps.set(point, [...(traps.get(point) ?? []), { action, spring }])
      }),
  }
}
