// Failpoints that a test sets one by one in a service of its own process: whoever passes next throws, or hangs until the test
// lets it go on.

import {
  createFailpoints,
  type Failpoint,
  type FailpointAction,
  type Failpoints,
} from '../../src/kit/failpoints.ts'

export interface TestFailpoints extends Failpoints {
  /** The next who passes there stumbles. Resolves when somebody did, with what lets one that hangs go on. */
  arm(point: Failpoint, action: Exclude<FailpointAction, 'kill'>): Promise<() => void>
}

interface ArmedFailpoint {
  action: FailpointAction
  trigger(release: () => void): void
}

export function createTestFailpoints(): TestFailpoints {
  const armed = new Map<Failpoint, ArmedFailpoint[]>()
  return {
    async hit(point) {
      const failpoint = armed.get(point)?.shift()
      if (!failpoint) return
      const { promise, resolve } = Promise.withResolvers<void>()
      failpoint.trigger(resolve)
      await createFailpoints(new Map([[point, failpoint.action]]), () => promise).hit(point)
    },
    arm: (point, action) =>
      new Promise((trigger) => {
        armed.set(point, [...(armed.get(point) ?? []), { action, trigger }])
      }),
  }
}
