// node:test notes for every promise of the process which test made it, and V8 reports the end of each. A request makes about
// a hundred promises, so this takes about a tenth of the time of all tests. Only a file that is being loaded needs it: its
// suites and tests find their parents so. The entry file of a group imports this module before node:test is loaded.

import hooks from 'node:async_hooks'

const createHook = hooks.createHook
let tracking: hooks.AsyncHook | undefined
hooks.createHook = (callbacks) => {
  tracking = createHook(callbacks)
  return tracking
}
await import('node:test')
hooks.createHook = createHook

/** Before a file is defined as a test. */
export function startTracking(): void {
  tracking?.enable()
}

/** When its suites and tests are defined. */
export function stopTracking(): void {
  tracking?.disable()
}
