// Cases for manual review, over the operators' API.

import assert from 'node:assert/strict'
import { after, describe, it } from 'node:test'
import { runCommandLine } from '../../src/cli/program.ts'
import { openCase } from '../../src/disputes/cases.ts'
import { systemClock } from '../../src/kit/clock.ts'
import { sql } from '../../src/kit/db/db.ts'
import { systemRandom } from '../../src/kit/random.ts'
import { assertApiError, UNKNOWN_UUID } from '../support/assertions.ts'
import { payWith } from '../support/builders.ts'
import { ADMIN_TOKEN, testService } from '../support/service.ts'

const service = await testService({ after })
const { admin, db } = service
const CASES = '/admin/v1/cases'

const selectAttempt = sql<{ id: string }>`select id from attempts where payment_id = $1`

/** A case about a paid payment, as a background job opens it. */
async function newCase() {
  const { api, uuid: merchantId } = await service.newMerchant()
  const { uuid: paymentId } = await payWith(api, 'card_success')
  const [{ id: attemptId } = assert.fail('it has an attempt')] = await db.query(selectAttempt, [paymentId])
  const app = { clock: systemClock, random: systemRandom(systemClock) }
  const wanted = { merchantId, kind: 'refund_failed_late', paymentId, attemptId } as const
  assert.equal(await openCase(app, db, wanted), true)
  assert.equal(await openCase(app, db, wanted), false)
  return { api, paymentId, merchantId, attemptId }
}

const listed = async (query = '') => {
  const answer = await admin.get(`${CASES}?limit=100${query}`)
  assert.equal(answer.http, 200, answer.text)
  return answer.body.data
}

describe('the operators’ cases', () => {
  it('requires the operator’s token to read cases', async () => {
    const { api } = await service.newMerchant()
    for (const path of [CASES, `${CASES}/${UNKNOWN_UUID}/close`])
      for (const by of [api, service.apiWith(undefined)]) {
        const answer = path === CASES ? await by.get(path) : await by.post(path, { note: 'x' })
        assertApiError(answer, 'invalid_admin_token')
      }
    assertApiError(await admin.post(`${CASES}/${UNKNOWN_UUID}/close`, { note: 'x' }), 'case_not_found')
    assertApiError(await admin.post(`${CASES}/nonsense/close`, { note: 'x' }), 'invalid_uuid')
  })

  it('lists open cases, and closes a case with a note once', async () => {
    const { paymentId, merchantId, attemptId } = await newCase()
    const [found] = (await listed()).filter((one: { paymentUuid: string }) => one.paymentUuid === paymentId)
    const { uuid, openedAt: _, meaning, ...rest } = found
    assert.match(meaning, /failed/)
    assert.deepEqual(rest, {
      kind: 'refund_failed_late',
      merchantUuid: merchantId,
      paymentUuid: paymentId,
      attemptUuid: attemptId,
      refundUuid: null,
      state: 'open',
      note: null,
      closedAt: null,
    })
    for (const body of [{}, { note: '' }, { note: '  ' }, { note: 'x'.repeat(501) }])
      assertApiError(await admin.post(`${CASES}/${uuid}/close`, body), 'validation_failed')
    const closed = await admin.post(`${CASES}/${uuid}/close`, { note: 'Sent by bank.' })
    assert.deepEqual([closed.body.data.state, closed.body.data.note], ['closed', 'Sent by bank.'])
    const again = await admin.post(`${CASES}/${uuid}/close`, { note: 'Another.' })
    assert.deepEqual(again.body.data, closed.body.data)
    const uuidsOf = (rows: { uuid: string }[]) => rows.map((row) => row.uuid)
    assert.equal(uuidsOf(await listed()).includes(uuid), false)
    assert.equal(uuidsOf(await listed('&state=all')).includes(uuid), true)
    assertApiError(await admin.get(`${CASES}?state=nonsense`), 'validation_failed')
  })

  it('counts open cases in cowry doctor, which still succeeds', async () => {
    await newCase()
    let out = ''
    const take = (text: string) => {
      out += text
    }
    const env = { COWRY_URL: service.url, COWRY_ADMIN_TOKEN: ADMIN_TOKEN }
    assert.equal(await runCommandLine(['doctor'], { terminal: { out: take, err: take }, env }), 0, out)
    assert.match(out, /^cases +ok +\d+ need manual review: GET \/admin\/v1\/cases$/m)
  })
})
