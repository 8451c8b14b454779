// A reporter that ends a run with the files that took longest, so that people see where their time goes.

import { relative } from 'node:path'
import type { TestEvent } from 'node:test/reporters'

const SHOWN = 10

// Node takes a reporter from the default export of its module.
export default async function* slowestFiles(source: AsyncIterable<TestEvent>): AsyncGenerator<string> {
  const seconds = new Map<string, number>()
  for await (const event of source) {
    if (event.type !== 'test:summary' || event.data.file === undefined) continue
    seconds.set(relative(process.cwd(), event.data.file), event.data.duration_ms / 1000)
  }
  const slowest = [...seconds].sort(([, a], [, b]) => b - a).slice(0, SHOWN)
  if (slowest.length < 2) return
  yield `\nThe slowest of ${seconds.size} files:\n`
  for (const [file, taken] of slowest) yield `${taken.toFixed(1).padStart(7)} s  ${file}\n`
}
