import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { systemClock } from '../clock.ts'
import { createLog, type LogFields } from './log.ts'
import { createRecentLines, readProcessLines, withRecentLines } from './recent-lines.ts'

const sequences = (lines: { sequence: number }[]) => lines.map(({ sequence }) => sequence)

describe('the recent lines of a log', () => {
  it('are bounded, and report how many were dropped', () => {
    const recent = createRecentLines(systemClock, 3)
    assert.deepEqual(recent.extent(), { oldest: 1, latest: 0 })
    for (const reason of ['a', 'b', 'c', 'd', 'e']) recent.add('http.request', { reason })
    assert.deepEqual(recent.extent(), { oldest: 3, latest: 5 })
    assert.deepEqual(
      recent.read({ level: 'debug', limit: 9 }).map(({ fields }) => fields.reason),
      ['c', 'd', 'e'],
    )
  })

  it('are the latest ones at first, and then those after the last one read', () => {
    const recent = createRecentLines(systemClock)
    for (let count = 0; count < 10; count++) recent.add('http.request')
    assert.deepEqual(sequences(recent.read({ level: 'debug', limit: 3 })), [8, 9, 10])
    assert.deepEqual(sequences(recent.read({ after: 4, level: 'debug', limit: 3 })), [5, 6, 7])
    assert.deepEqual(sequences(recent.read({ after: 10, level: 'debug', limit: 3 })), [])
  })

  it('are filtered by level, merchant and request', () => {
    const recent = createRecentLines(systemClock)
    recent.add('http.probe', { merchantId: 'm', requestId: 'r' })
    recent.add('service.not_ready', { merchantId: 'm' })
    recent.add('job.failed', { requestId: 'r' })
    const read = (query: object) => sequences(recent.read({ level: 'debug', limit: 9, ...query }))
    assert.deepEqual(read({ level: 'warn' }), [2, 3])
    assert.deepEqual(read({ merchantId: 'm' }), [1, 2])
    assert.deepEqual(read({ requestId: 'r', level: 'info' }), [3])
  })

  it('hold only allowed fields, and no text without a limit', () => {
    const recent = createRecentLines(systemClock)
    const log = withRecentLines(createLog('silent'), recent, 'info')
    const sneaked: LogFields = { reason: 'x'.repeat(5_000) }
    log.write(
      'http.request',
      Object.assign(sneaked, { email: 'amina@example.com', apiKey: 'cowry_test_secret' }),
    )
    log.write('http.probe')
    const lines = recent.read({ level: 'debug', limit: 9 })
    assert.deepEqual(
      lines.map(({ key, message, fields }) => ({ key, message, fields })),
      [{ key: 'http.request', message: 'request', fields: { reason: 'x'.repeat(2_000) } }],
    )
    withRecentLines(createLog('silent'), recent, 'silent').write('job.failed')
    assert.equal(recent.extent().latest, 1)
  })

  it('are read on, process by process, without a gap', () => {
    const recent = createRecentLines(systemClock)
    const read = (after: Record<string, number> | null, limit = 3) => {
      const { next, lines } = readProcessLines(recent, 'me', { after, level: 'debug', limit })
      return { next, sequences: sequences(lines) }
    }
    for (let count = 0; count < 7; count++) recent.add('http.request')
    assert.deepEqual(read(null), { next: 7, sequences: [5, 6, 7] }, 'the latest')
    assert.deepEqual(read({ other: 5 }), { next: 3, sequences: [1, 2, 3] }, 'who was not read yet')
    assert.deepEqual(read({ me: 3 }), { next: 6, sequences: [4, 5, 6] })
    assert.deepEqual(read({ me: 6 }), { next: 7, sequences: [7] })
    assert.deepEqual(read({ me: 7 }), { next: 7, sequences: [] })
  })
})
