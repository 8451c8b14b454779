import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { money } from '../../core/money.ts'
import type { HttpResult } from '../../kit/http/http-client.ts'
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

describe('disputes at Stripe', () => {
  it('are open while they are under review, then won or lost', () => {
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

  it('are absent while no money is taken: for an inquiry, or a prevented dispute', () => {
    for (const status of ['warning_needs_response', 'warning_under_review', 'warning_closed', 'prevented'])
      assert.deepEqual(fromDisputes(listOf(dispute(status)), PAID), { reports: [] })
    assert.deepEqual(fromDisputes(listOf(), PAID), { reports: [] })
  })

  it('are reported completely, latest first, in the order of Stripe', () => {
    const list = [dispute('needs_response'), dispute('warning_closed'), dispute('won'), dispute('lost')]
    const found = fromDisputes(listOf(...list), PAID)
    assert.ok('reports' in found)
    assert.deepEqual(
      found.reports.map(({ reference }) => reference),
      ['du_needs_response', 'du_won', 'du_lost'],
    )
  })

  it('have the deadline for evidence until the response', () => {
    const deadlineOf = (status: string, due_by: number | null) => {
      const found = fromDisputes(listOf(dispute(status, { evidence_details: { due_by } })), PAID)
      return 'reports' in found ? found.reports[0]?.respondBy : found
    }
    assert.deepEqual(deadlineOf('needs_response', 1_682_294_399), new Date('2023-04-23T23:59:59Z'))
    assert.equal(deadlineOf('needs_response', null), undefined)
    assert.equal(deadlineOf('under_review', 1_682_294_399), undefined)
  })

  it('cover the whole payment if the bank uses another currency', () => {
    const found = fromDisputes(listOf(dispute('lost', { currency: 'usd' })), PAID)
    assert.ok('reports' in found)
    assert.deepEqual(found.reports[0]?.amount, PAID)
  })

  it('leave the outcome unknown if the status or the shape is unknown, and on any error', () => {
    const odd = [
      listOf(dispute('charge_refunded')),
      listOf(dispute('lost', { amount: 1.5 })),
      answered({ object: 'dispute' }),
      answered({}, 500),
      answered({ error: { type: 'invalid_request_error' } }, 403),
    ]
    for (const result of odd) {
      const found = fromDisputes(result, PAID)
      assert.equal('kind' in found ? found.kind : 'reports', 'unknown')
    }
  })
})

describe('the payment of a dispute', () => {
  it('is found by the key in its metadata, and is not ours without one', () => {
    const intent = (metadata: object | null) => answered({ id: 'pi_1', metadata })
    assert.deepEqual(fromKeyQuery(intent({ cowry_key: 'ours' })), { kind: 'key', key: 'ours' })
    for (const metadata of [null, {}, { cowry_key: '' }, { cowry_key: 7 }])
      assert.deepEqual(fromKeyQuery(intent(metadata)), { kind: 'key', key: null })
  })

  it('is unknown while the request gets no response', () => {
    const timedOut: HttpResult = { kind: 'unknown', error: 'timeout', code: 'TIMEOUT' }
    assert.equal(fromKeyQuery(timedOut).kind, 'unknown')
  })
})
