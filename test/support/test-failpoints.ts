// Failpoints that a test arms one by one in a service of its own process: the next call that passes throws, or hangs
// until the test releases it.

import {
  createFailpoints,
  type Failpoint,
  type FailpointAction,
  type Failpoints,
} from '../../src/kit/failpoints.ts'

export interface TestFailpoints extends Failpoints {
  /**
   * Arms the point for the next call that passes. Resolves when it fired, with a function that releases a hanging call.
   */
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
