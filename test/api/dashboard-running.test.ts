// One person who opens very many pages at once does not keep the pages of others waiting.

import assert from 'node:assert/strict'
import { after, describe, it } from 'node:test'
import { MOST_RUNNING } from '../../src/dashboard/frame/running.ts'
import { signInAs } from '../support/dashboard.ts'
import { testService } from '../support/service.ts'

// As in production: the requests that wait for the lock must not hold all connections.
const service = await testService({ after }, { env: { COWRY_POOL_SIZE: '16' } })
const merchant = await service.newMerchant()
const busy = await signInAs(service, merchant.uuid)
const other = await signInAs(service, merchant.uuid, 'viewer')

// In the cell of the merchant.
const lockRefunds = `lock table refunds in access exclusive mode -- ${merchant.uuid}`
const TOO_MANY = 4

/** The first answers, as many as given. */
function firstOf<Answer>(count: number, requests: readonly Promise<Answer>[]): Promise<Answer[]> {
  const answers: Answer[] = []
  return new Promise((done, fail) => {
    for (const request of requests)
      request.then((answer) => answers.push(answer) === count && done([...answers])).catch(fail)
  })
}

describe('many pages of one person at once', () => {
  it('are refused beyond the limit with a sentence, while another person gets pages', async () => {
    const pages = await service.db.transaction(async (tx) => {
      await tx.script(lockRefunds)
      const opened = Array.from({ length: MOST_RUNNING + TOO_MANY }, () => busy.get('/app/refunds'))
      for (const { http, text, headers } of await firstOf(TOO_MANY, opened)) {
        assert.equal(http, 429)
        assert.match(text, /You opened too many pages at once/)
        assert.equal(headers.get('retry-after'), '2')
      }
      assert.equal((await other.get('/app/customers')).http, 200)
      return { opened }
    })
    const shown = (await Promise.all(pages.opened)).filter(({ http }) => http === 200)
    assert.equal(shown.length, MOST_RUNNING)
    assert.equal((await busy.get('/app/customers')).http, 200)
  })
})
