// A test reporter that ends a run with the slowest files, and writes the tests that failed into the file that run.ts names, to
// print them at the end of all its steps.

import { appendFileSync } from 'node:fs'
import type { TestEvent } from 'node:test/reporters'
import { inspect } from 'node:util'

const SHOWN = 20
const FILE = /^(?:src|test|bench)\/.*\.test\.ts$/
const MAX_ERROR_CHARS = 2000

type Failure = Extract<TestEvent, { type: 'test:fail' }>['data']

// Node loads a reporter from the default export of its module.
export default async function* summary(source: AsyncIterable<TestEvent>): AsyncGenerator<string> {
  const seconds = new Map<string, number>()
  const titles: string[] = []
  for await (const { type, data } of source) {
    if (type === 'test:start') titles[data.nesting] = data.name
    if (type === 'test:fail') writeFailure(titles.slice(0, data.nesting), data)
    if (type !== 'test:pass' && type !== 'test:fail') continue
    const { name, nesting, details } = data
    if (nesting === 0 && FILE.test(name)) seconds.set(name, details.duration_ms / 1000)
  }
  const slowest = [...seconds].sort(([, a], [, b]) => b - a).slice(0, SHOWN)
  if (slowest.length < 2) return
  yield `\nThe slowest of ${seconds.size} files:\n`
  for (const [file, taken] of slowest) yield `${taken.toFixed(1).padStart(7)} s  ${file}\n`
}

function writeFailure(parents: readonly string[], { name, details: { error }, todo }: Failure): void {
  const file = process.env.COWRY_TEST_FAILURES
  // Of a suite its tests are listed instead.
  if (file === undefined || todo !== undefined || isOfItsTests(error)) return
  const text = inspect(error.cause ?? error, { depth: 4 })
  const lines = text.split('\n').filter((line) => !/^ +at .*node:internal/.test(line))
  const shown = lines.join('\n').slice(0, MAX_ERROR_CHARS).replaceAll(/^/gm, '    ')
  appendFileSync(file, `✖ ${[...parents, name].join(' › ')}\n${shown}\n`)
}

const isOfItsTests = (error: Error) => 'failureType' in error && error.failureType === 'subtestsFailed'
