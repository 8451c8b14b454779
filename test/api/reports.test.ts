import assert from 'node:assert/strict'
import { after, describe, it } from 'node:test'
import { sql } from '../../src/kit/db/db.ts'
import { foldCollectionDeltas } from '../../src/reports/queries.ts'
import type { Api } from '../support/api.ts'
import { assertApiError } from '../support/assertions.ts'
import { chargeBody, payWith } from '../support/builders.ts'
import { ONE_DATABASE } from '../support/cells.ts'
import { testService } from '../support/service.ts'

const service = await testService({ after })
const PATH = '/api/v1/reports/collections'

// The whole period of the test, also if it runs over midnight.
const today = new Date().toISOString().slice(0, 10)
const tomorrow = new Date(Date.parse(today) + 86_400_000).toISOString().slice(0, 10)
const PERIOD = `from=${today}&to=${tomorrow}`

async function report(api: Api, groupBy: string) {
  const answer = await api.get(`${PATH}?${PERIOD}&groupBy=${groupBy}`)
  assert.equal(answer.http, 200, answer.text)
  return answer.body.data
}

describe('GET /api/v1/reports/collections', () => {
  it('requires a key with the scope, and has no sums of another merchant', async () => {
    assertApiError(await service.apiWith(undefined).get(`${PATH}?${PERIOD}`), 'missing_api_key')
    const { api: poor } = await service.newMerchant(['checkout:read'])
    assertApiError(await poor.get(`${PATH}?${PERIOD}`), 'insufficient_scope')
    const owner = await service.newMerchant()
    await payWith(owner.api, 'card_success')
    const other = await service.newMerchant(['reports:read'])
    assert.deepEqual(await report(other.api, 'status'), [])
    assert.equal((await report(owner.api, 'status')).length, 1)
    assert.equal((await owner.api.get(PATH)).body.data.length, 1)
  })

  it('rejects periods that are too long, reversed or no days', async () => {
    const { api } = await service.newMerchant()
    for (const query of [
      'from=2026-02-02&to=2026-02-01',
      'from=2025-01-01&to=2026-02-01',
      'from=2026-02-30&to=2026-03-01',
      'from=2026-02-01T00:00:00Z&to=2026-03-01',
      'from=2020-02-01',
      'from=2026-02-01&to=2026-02-01&groupBy=weekday',
    ])
      assertApiError(await api.get(`${PATH}?${query}`), 'validation_failed')
  })

  it('sums payments, charges and refunds exactly, before and after the background has folded them', async () => {
    const { api } = await service.newMerchant()
    const paid = await payWith(api, 'card_success', { amount: 10.5, currency: 'KES' })
    await payWith(api, 'card_declined', { amount: 7, currency: 'KES' })
    await payWith(api, 'card_success', { amount: 5000, currency: 'UGX', country: 'UG' })
    const { recurringToken } = paid.paymentMethod
    const charge = chargeBody(recurringToken, { amount: 4, currency: 'KES' })
    assert.equal((await api.post('/api/v1/charges/recurring', charge)).body.data.status, 'successful')
    const refund = { paymentUuid: paid.uuid, amount: 0.5, refundReference: `r-${paid.uuid}` }
    assert.equal((await api.post('/api/v1/refunds', refund)).body.data.status, 'successful')
    const check = async () => {
      const byCurrency = await report(api, 'currency')
      assert.deepEqual(
        byCurrency.map((row: Record<string, unknown>) => [
          ...[row.currency, row.payments, row.paidPayments, row.amount, row.amountPaid, row.refundedAmount],
        ]),
        [
          ['KES', 3, 2, '21.50', '14.50', '0.50'],
          ['UGX', 1, 1, '5000.00', '5000.00', '0.00'],
        ],
      )
      const byStatus = await report(api, 'status,channel')
      assert.deepEqual(
        byStatus
          .filter(({ currency }: { currency: string }) => currency === 'KES')
          .map((row: Record<string, unknown>) => [row.channel, row.status, row.amountPaid])
          .filter(([, status]: unknown[]) => status !== 'pending' && status !== 'failed'),
        [
          ['card', 'partially_refunded', '10.50'],
          ['saved', 'successful', '4.00'],
        ],
      )
      for (const groups of ['day', 'gateway', 'channel', 'day,status', 'day,gateway,channel,status']) {
        const rows = await report(api, groups)
        const kes = rows.filter(({ currency }: { currency: string }) => currency === 'KES')
        const total = kes.reduce(
          (sum: number, row: { amountPaid: string }) => sum + Number(row.amountPaid),
          0,
        )
        assert.equal(total, 14.5, groups)
      }
    }
    await check()
    // Two processes at once fold each difference once.
    await Promise.all([1, 2].map(() => foldCollectionDeltas(service.db, 100_000)))
    await check()
  })

  it('has an invariant that detects a refunded amount which the ledger does not have', async () => {
    const { api, uuid: merchant } = await service.newMerchant()
    const paid = await payWith(api, 'card_success')
    assert.equal((await api.post('/api/v1/refunds', { uuid: paid.uuid })).http, 201)
    const differing = sql<unknown>`select from invariant_q03_reports_equal_the_ledger where merchant_id = $1`
    const change = sql<unknown>`update payments set refunded_minor = refunded_minor - 1 where merchant_id = $1`
    const seen: number[] = []
    const rolledBack = new Error('rolled back')
    const changed = service.db.transaction(async (tx) => {
      seen.push((await tx.query(differing, [merchant])).length)
      await tx.query(change, [merchant])
      seen.push((await tx.query(differing, [merchant])).length)
      throw rolledBack
    })
    await assert.rejects(changed, rolledBack)
    assert.deepEqual(seen, [0, 1])
  })

  it('has an invariant that detects a wrong sum of every grain', ONE_DATABASE, async () => {
    const { api, uuid: merchant } = await service.newMerchant()
    await payWith(api, 'card_success')
    await foldCollectionDeltas(service.db, 100_000)
    const differing = sql<{ grain: string }>`
    select distinct grain from invariant_q02_reports_equal_payments where merchant_id = $1 order by 1`
    const change = sql<unknown>`update collection_sums set paid_minor = paid_minor + 1 where merchant_id = $1`
    const seen: string[][] = []
    const rolledBack = new Error('rolled back')
    const changed = service.db.transaction(async (tx) => {
      for (const statement of [differing, change, differing])
        seen.push((await tx.query(statement, [merchant])).map((row) => (row as { grain: string }).grain))
      throw rolledBack
    })
    await assert.rejects(changed, rolledBack)
    assert.deepEqual(seen, [[], [], ['day', 'day_total', 'hour', 'hour_total', 'month', 'quarter_hour']])
  })
})
