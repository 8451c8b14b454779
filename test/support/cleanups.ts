// Cleanups of a test. Node skips the hooks that follow one that throws, and what they should have closed keeps the process
// open. These all run, and then the test fails with what they threw.

import type { TestContext } from 'node:test'

type Cleanup = () => unknown

const cleanupsByTest = new WeakMap<object, Cleanup[]>()

/** Runs when the test has ended, in the order of the calls, even if an earlier cleanup throws. */
export function cleanUp(t: Pick<TestContext, 'after'>, cleanup: Cleanup): void {
  const known = cleanupsByTest.get(t)
  if (known) return void known.push(cleanup)
  const cleanups = [cleanup]
  cleanupsByTest.set(t, cleanups)
  t.after(() => runAll(cleanups))
}

async function runAll(cleanups: readonly Cleanup[]): Promise<void> {
  const errors: unknown[] = []
  for (const cleanup of cleanups)
    try {
      await cleanup()
    } catch (error) {
      errors.push(error)
    }
  if (errors.length > 1)
    throw new AggregateError(errors, `${errors.length} cleanups failed: ${errors.join('; ')}`)
  if (errors.length === 1) throw errors[0]
}
