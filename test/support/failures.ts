// A test reporter that lists the tests that failed, each with its error. test/run.ts prints the list at the end of a run.

import type { TestEvent } from 'node:test/reporters'
import { inspect } from 'node:util'

const MAX_ERROR_CHARS = 2000

// Node loads a reporter from the default export of its module.
export default async function* failures(source: AsyncIterable<TestEvent>): AsyncGenerator<string> {
  const titles: string[] = []
  for await (const { type, data } of source) {
    if (type === 'test:start') titles[data.nesting] = data.name
    if (type !== 'test:fail' || data.skip !== undefined || data.todo !== undefined) continue
    const { error } = data.details
    // Its tests are listed instead.
    if ('failureType' in error && error.failureType === 'subtestsFailed') continue
    const title = [...titles.slice(0, data.nesting), data.name].join(' › ')
    yield `✖ ${title}\n${shorten(inspect(error.cause ?? error, { depth: 4 }))}\n`
  }
}

/** The text without the frames of Node, indented. */
function shorten(text: string): string {
  const lines = text.split('\n').filter((line) => !/^ +at .*node:internal/.test(line))
  return lines.join('\n').slice(0, MAX_ERROR_CHARS).replaceAll(/^/gm, '    ')
}
