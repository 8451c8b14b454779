import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { createLog } from './log.ts'

function logged(fields: Parameters<ReturnType<typeof createLog>['info']>[1]): Record<string, unknown> {
  const lines: string[] = []
  createLog('info', { write: (line: string) => void lines.push(line) }).info('request', fields)
  return JSON.parse(lines.join(''))
}

describe('a line of the log', () => {
  it('has the fields that are on the list, and no other', () => {
    // A boundary: the type forbids it, and the filter holds where the type was not asked.
    const more = { requestId: 'order-1042', body: 'secret' } as Parameters<typeof logged>[0]
    const { requestId, body } = logged(more)
    assert.deepEqual([requestId, body], ['order-1042', undefined])
  })

  it('F-79: withholds what looks like a card number or a secret, whoever sent it', () => {
    for (const text of [
      '4242424242424242',
      'id-4242-4242-4242-4242',
      'cowry_test_abcdefghijkl_secret',
      'rtk_4fV9aQ2kLm8ZxT1u',
      'whsec_MfKQ9r8GKYqrTwjU',
      'sk_live_0123456789',
      'invalid input syntax for type uuid: "4242424242424242"',
    ]) {
      const { requestId, error } = logged({ requestId: text, error: text })
      assert.deepEqual([requestId, error], ['withheld', 'withheld'], text)
    }
  })

  it('shows the ids of requests as they are', () => {
    const ours = Array.from({ length: 2_000 }, () => crypto.randomUUID())
    for (const id of ['trace-8f3a2b1c', 'order.1042', '1763200000000', ...ours])
      assert.equal(logged({ requestId: id }).requestId, id)
  })
})
