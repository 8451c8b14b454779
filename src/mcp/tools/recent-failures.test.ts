import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { frozenClock } from '../../../test/support/fake-clock.ts'
import { systemRandom } from '../../kit/random.ts'
import type { ApiRequest } from '../api.ts'
import { createConfirmations } from '../confirmation.ts'
import { recentFailures } from './recent-failures.ts'

const clock = frozenClock()

type Page = { count: number; total: number; isCapped: boolean; failureCode: string | null }

/** A service with so many payments of each status that no list ends, each page as `pageOf` says. */
async function answerWith(pageOf: (status: string) => Page) {
  const call = async ({ query = {} }: ApiRequest) => {
    const status = String(query.status)
    const { count, total, isCapped, failureCode } = pageOf(status)
    const attempts = failureCode === null ? [] : [{ failureCode }]
    const row = { uuid: 'u', status, failure: null, attempts, paymentGateway: 'sandbox', channel: null }
    const meta = { total, totalIsCapped: isCapped, nextCursor: total > count ? 'more' : null }
    return { http: 200, body: { data: Array.from({ length: count }, () => row), meta } }
  }
  return recentFailures.run(
    {
      call,
      now: clock.now(),
      publicUrl: 'https://pay.example',
      merchantId: 'm',
      keyId: 'k',
      confirmations: createConfirmations(Buffer.alloc(32, 7), clock, systemRandom(clock)),
      isKeyUsed: async () => false,
      errorHelp: () => ({ cause: '', fix: '' }),
    },
    {},
  )
}

const NONE: Page = { count: 0, total: 0, isCapped: false, failureCode: null }

describe('recent_failures', () => {
  it('counts declined payments beside any number of checkouts that were never opened', async () => {
    const { headline, data } = await answerWith((status) => {
      if (status === 'pending') return { count: 100, total: 10_000, isCapped: true, failureCode: null }
      if (status === 'failed') return { ...NONE, count: 2, total: 2, failureCode: 'do_not_honor' }
      return NONE
    })
    assert.match(headline, /at least 2 payments declined or ended unpaid, 0 payments paid/)
    assert.match(headline, /Most frequent: do_not_honor/)
    assert.match(headline, /incomplete/)
    assert.deepEqual([data.failed, data.failedIsExact, data.isComplete], [2, false, false])
  })

  it('counts what it does not read, and says when a number is a lower limit', async () => {
    const { headline, data } = await answerWith((status) => {
      if (status === 'failed') return { count: 100, total: 900, isCapped: false, failureCode: 'do_not_honor' }
      return status.startsWith('successful') ? { ...NONE, count: 1, total: 10_000, isCapped: true } : NONE
    })
    assert.match(headline, /: 900 payments declined or ended unpaid, at least 10000 payments paid/)
    assert.match(headline, /groups count 300 payments/)
    assert.deepEqual([data.failed, data.failedIsExact, data.paidIsExact], [900, true, false])
  })
})
