import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { money } from '../../core/money.ts'
import type { HttpResult } from '../../kit/http-client.ts'
import { fromDisputes, fromKeyQuery } from './disputes.ts'

const PAID = money(125_050n, 'KES')
const answered = (body: unknown, status = 200): HttpResult => ({
  kind: 'answered',
  status,
  headers: {},
  body: Buffer.from(JSON.stringify(body)),
})
const listOf = (...data: object[]) => answered({ object: 'list', data })
const dispute = (status: string, changes: object = {}) => ({
  id: `du_${status}`,
  status,
  amount: 100_000,
  currency: 'kes',
  ...changes,
})

describe('what Stripe says of disputes', () => {
  it('is open while it is answered and looked into, and then won or lost', () => {
    for (const [status, ours] of [
      ['needs_response', 'open'],
      ['under_review', 'open'],
      ['won', 'won'],
      ['lost', 'lost'],
    ] as const) {
      const amount = money(100_000n, 'KES')
      const report = { status: ours, amount, reference: `du_${status}` }
      assert.deepEqual(fromDisputes(listOf(dispute(status)), PAID), { reports: [report] })
    }
  })

  it('is nothing as long as no money is taken: an inquiry, or a dispute that was prevented', () => {
    for (const status of ['warning_needs_response', 'warning_under_review', 'warning_closed', 'prevented'])
      assert.deepEqual(fromDisputes(listOf(dispute(status)), PAID), { reports: [] })
    assert.deepEqual(fromDisputes(listOf(), PAID), { reports: [] })
  })

  it('is told whole, the latest first, as Stripe lists it', () => {
    const list = [dispute('needs_response'), dispute('warning_closed'), dispute('won'), dispute('lost')]
    const found = fromDisputes(listOf(...list), PAID)
    assert.ok('reports' in found)
    assert.deepEqual(
      found.reports.map(({ reference }) => reference),
      ['du_needs_response', 'du_won', 'du_lost'],
    )
  })

  it('is about all that was paid when the bank counts in another currency', () => {
    const found = fromDisputes(listOf(dispute('lost', { currency: 'usd' })), PAID)
    assert.ok('reports' in found)
    assert.deepEqual(found.reports[0]?.amount, PAID)
  })

  it('stays unknown with a status or a shape that we do not know, and with any error', () => {
    const odd = [
      listOf(dispute('charge_refunded')),
      listOf(dispute('lost', { amount: 1.5 })),
      answered({ object: 'dispute' }),
      answered({}, 500),
      answered({ error: { type: 'invalid_request_error' } }, 403),
    ]
    for (const answer of odd) {
      const found = fromDisputes(answer, PAID)
      assert.equal('kind' in found ? found.kind : 'reports', 'unknown')
    }
  })
})

describe('whose payment a dispute is about', () => {
  it('is told by the key that the payment carries, and is nobody of ours without one', () => {
    const intent = (metadata: object | null) => answered({ id: 'pi_1', metadata })
    assert.deepEqual(fromKeyQuery(intent({ cowry_key: 'ours' })), { kind: 'key', key: 'ours' })
    for (const metadata of [null, {}, { cowry_key: '' }, { cowry_key: 7 }])
      assert.deepEqual(fromKeyQuery(intent(metadata)), { kind: 'key', key: null })
  })

  it('is not known while nobody answers', () => {
    const silent: HttpResult = { kind: 'unknown', error: 'timeout', code: 'TIMEOUT' }
    assert.equal(fromKeyQuery(silent).kind, 'unknown')
  })
})
