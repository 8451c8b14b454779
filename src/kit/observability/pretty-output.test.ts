import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { createLog, errorFields, type LogFields } from './log.ts'
import { prettyLine } from './pretty-output.ts'

function pretty(fields: LogFields, hasColours = false): string {
  const lines: string[] = []
  createLog('debug', { write: (line: string) => void lines.push(line) }).write('service.stop_failed', fields)
  return prettyLine(lines.join(''), hasColours)
}

describe('a log line for a terminal', () => {
  it('shows time, level, message, key and fields in one line', () => {
    assert.match(
      pretty({ job: 'purge-deliveries', count: 3, reason: 'two words' }),
      /^\d\d:\d\d:\d\d (?:WARN |ERROR) \S.*\. service\.stop_failed job=purge-deliveries count=3 reason="two words"\n$/,
    )
  })

  it('shows the stack of an error on lines of its own', () => {
    const lines = pretty(errorFields(new Error('lost'))).split('\n')
    assert.match(lines[0] ?? '', / error=lost$/)
    assert.match(lines[1] ?? '', /^ {4}at /)
  })

  it('has colours only in a terminal that shows them', () => {
    assert.ok(pretty({}, true).includes('\u001b['))
    assert.ok(!pretty({}, false).includes('\u001b'))
  })

  it("escapes what could control the terminal in a caller's text", () => {
    const text = pretty({ requestId: 'a\u001b[2Jb\u009bc\u202ed\nforged' })
    assert.ok(text.includes('requestId="a\\u001b[2Jb\\u009bc\\u202ed\\nforged"'), text)
  })
})
