// A test reporter that ends a run with the slowest files.

import type { TestEvent } from 'node:test/reporters'

const SHOWN = 20
const FILE = /^(?:src|test|bench)\/.*\.test\.ts$/

// Node loads a reporter from the default export of its module.
export default async function* slowestFiles(source: AsyncIterable<TestEvent>): AsyncGenerator<string> {
  const seconds = new Map<string, number>()
  for await (const event of source) {
    if (event.type !== 'test:pass' && event.type !== 'test:fail') continue
    const { name, nesting, details } = event.data
    if (nesting === 0 && FILE.test(name)) seconds.set(name, details.duration_ms / 1000)
  }
  const slowest = [...seconds].sort(([, a], [, b]) => b - a).slice(0, SHOWN)
  if (slowest.length < 2) return
  yield `\nThe slowest of ${seconds.size} files:\n`
  for (const [file, taken] of slowest) yield `${taken.toFixed(1).padStart(7)} s  ${file}\n`
}
