// A service in a process of its own that hangs at failpoints until it is killed. It is started with its options as JSON,
// and reports what happens as messages to its parent.

import type { Role } from '../../../src/config.ts'
import type { Failpoint } from '../../../src/kit/failpoints.ts'
import { testService } from '../../support/service.ts'
import { createTestFailpoints } from '../../support/test-failpoints.ts'

export interface HangingProcessOptions {
  databaseUrl: string
  role: Role
  env: Record<string, string>
  /** The next call of each point hangs. */
  points: readonly Failpoint[]
}

export type Message = { url: string; key: string } | { armed: Failpoint } | { reached: Failpoint }

const { points, ...options }: HangingProcessOptions = JSON.parse(process.argv[2] ?? '')
const failpoints = createTestFailpoints()
const report = (message: Message) => process.send?.(message)

function arm(point: Failpoint): void {
  void failpoints.arm(point, 'hang').then(() => report({ reached: point }))
}

for (const point of points) arm(point)
process.on('message', (point: Failpoint) => {
  arm(point)
  report({ armed: point })
})
// The parent died, or its test is over.
process.on('disconnect', () => process.exit())
// It is killed, so nothing is cleaned up here.
const service = await testService({ after: () => undefined }, { ...options, failpoints })
report({ url: service.url, key: service.demoKey ?? '' })
