// Cases over HTTP: another amount arrives, or a refund fails after its success. The merchant sees the case, the event and the
// amount, and decides; the operator sees all of them.

import assert from 'node:assert/strict'
import { after, describe, it } from 'node:test'
import { runCommandLine } from '../../src/cli/program.ts'
import type { Api } from '../support/api.ts'
import { assertApiError, UNKNOWN_UUID } from '../support/assertions.ts'
import { payWith } from '../support/builders.ts'
import { CASES, caseCalls, dataOf, isReplay, OPERATOR_CASES } from '../support/cases.ts'
import { eventsOf, movesOf, postingsOf } from '../support/payment-records.ts'
import { eventually } from '../support/process.ts'
import { ADMIN_TOKEN, testService } from '../support/service.ts'

const service = await testService({ after })
const { admin, db } = service
const { caseOf, resolve, operatorCaseOf } = caseCalls(service)

/** A payment of 1250.50 KES of which another amount arrived, and its case. */
async function newMismatch(instrument: 'transfer_underpaid' | 'transfer_overpaid') {
  const { api, uuid: merchantUuid } = await service.newMerchant()
  const payment = await payWith(api, instrument)
  return { api, merchantUuid, payment, found: await caseOf(api, payment.uuid) }
}

const MISMATCHES = [
  ['transfer_underpaid', 'underpaid', '1125.45', 112_545],
  ['transfer_overpaid', 'overpaid', '1375.55', 137_555],
] as const

describe('a case about another amount', () => {
  for (const [instrument, kind, received, minor] of MISMATCHES) {
    it(`opens a case for ${instrument} that shows what arrived, with its event and in the metric`, async () => {
      const { api, payment, found, merchantUuid } = await newMismatch(instrument)
      assert.deepEqual(
        [payment.status, payment.statusReason, payment.amountPaid, payment.amountReceived],
        ['processing', 'amount_mismatch', null, received],
      )
      assert.equal(found.kind, kind)
      assert.deepEqual(
        [found.state, found.owner, found.amount, found.amountReceived, found.currency, found.resolutions],
        ['open', 'merchant', '1250.50', received, 'KES', ['accept', 'return']],
      )
      assert.deepEqual([found.paymentUuid, found.paymentReference], [payment.uuid, payment.reference])
      assert.match(found.gatewayReference, /^[0-9a-f-]{36}$/)
      assert.deepEqual(await postingsOf(db, payment.uuid), [
        `unmatched_capture gateway:sandbox KES -${minor}`,
        `unmatched_capture unmatched KES ${minor}`,
      ])
      const [event] = await eventsOf(db, found.uuid)
      assert.deepEqual(
        [event?.type, event?.body.resource.type, event?.body.data.amountReceived],
        ['payment.needs_review', 'case', received],
      )
      assert.deepEqual(dataOf(await api.get(`${CASES}/${found.uuid}`)), found)
      const seen = dataOf(await admin.get(`${OPERATOR_CASES}/${found.uuid}`))
      assert.deepEqual(
        [seen.merchantUuid, seen.resolutions],
        [merchantUuid, ['accept', 'return', 'write_off']],
      )
      const metrics = await admin.get('/metrics')
      assert.match(metrics.text, /^cowry_cases_open\{owner="merchant"\} [1-9]/m)
    })

    it(`accepts what arrived for ${instrument}: the payment succeeds with it, once`, async () => {
      const { api, payment, found } = await newMismatch(instrument)
      const first = await resolve(api, found.uuid, 'accept')
      assert.deepEqual(
        [first.body.data.state, first.body.data.resolution, first.body.data.paymentStatus, isReplay(first)],
        ['resolved', 'accept', 'successful', false],
      )
      assert.match(first.body.data.resolvedBy, /^key:/)
      const again = await resolve(api, found.uuid, 'accept')
      assert.equal(isReplay(again), true)
      assert.deepEqual(again.body.data, first.body.data)
      const paid = dataOf(await api.get(`/api/v1/checkout/verify-payment?uuid=${payment.uuid}`))
      assert.deepEqual([paid.status, paid.amountPaid, paid.statusReason], ['successful', received, null])
      assert.deepEqual((await postingsOf(db, payment.uuid)).slice(2), [
        `capture unmatched KES -${minor}`,
        `capture pending KES ${minor}`,
      ])
      const events = (await eventsOf(db, found.uuid)).map(({ type }) => type)
      assert.deepEqual(events, ['payment.needs_review', 'case.resolved'])
      const refund = await api.post('/api/v1/refunds', { reference: payment.reference })
      assert.deepEqual([refund.http, refund.body.data.amount], [201, received])
    })

    it(`returns what arrived for ${instrument} through the gateway, and the payment fails`, async () => {
      const { api, payment, found } = await newMismatch(instrument)
      assert.equal(dataOf(await resolve(api, found.uuid, 'return')).state, 'resolved')
      assert.equal(isReplay(await resolve(api, found.uuid, 'return')), true)
      const ended = dataOf(await api.get(`/api/v1/checkout/verify-payment?uuid=${payment.uuid}`))
      assert.deepEqual([ended.status, ended.statusReason], ['failed', 'returned'])
      assert.equal(ended.failure.message, 'The payer paid another amount, and the money was returned.')
      const [refund, ...others] = dataOf(await api.get(`/api/v1/refunds?payment=${payment.uuid}`))
      assert.deepEqual([refund.status, refund.amount, others.length], ['successful', received, 0])
      assert.deepEqual((await postingsOf(db, payment.uuid)).slice(2), [
        `refund unmatched KES -${minor}`,
        `refund gateway:sandbox KES ${minor}`,
      ])
      const executions = dataOf(await api.get(`/api/v1/sandbox/executions?reference=${payment.reference}`))
      assert.deepEqual(
        executions.map((one: { kind: string; amount: string }) => `${one.kind} ${one.amount}`),
        [`checkout ${received}`, `refund ${received}`],
      )
      const [last] = (await movesOf(db, payment.uuid)).slice(-1)
      assert.deepEqual([last?.to, last?.proof, last?.source], ['failed', 'review', 'case'])
    })
  }

  it('takes a proof that the money was returned at the provider', async () => {
    const { api, payment, found } = await newMismatch('transfer_underpaid')
    const resolved = dataOf(await resolve(api, found.uuid, 'return', { proof: 'bank-77' }))
    assert.deepEqual([resolved.resolution, resolved.proof, resolved.note], ['return', 'bank-77', 'Decided.'])
    assert.deepEqual(dataOf(await api.get(`/api/v1/refunds?payment=${payment.uuid}`)), [])
    assert.deepEqual((await postingsOf(db, payment.uuid)).slice(2), [
      'reversal unmatched KES -112545',
      'reversal gateway:sandbox KES 112545',
    ])
  })

  it('lets only the operator write it off', async () => {
    const { api, payment, found } = await newMismatch('transfer_underpaid')
    assertApiError(await resolve(api, found.uuid, 'write_off'), 'resolution_not_possible')
    const resolved = dataOf(await resolve(admin, found.uuid, 'write_off'))
    assert.deepEqual([resolved.resolvedBy, resolved.paymentStatus], ['operator', 'failed'])
    assert.deepEqual((await postingsOf(db, payment.uuid)).slice(2), [
      'write_off unmatched KES -112545',
      'write_off written_off KES 112545',
    ])
  })

  it('lets one of two concurrent resolutions win, and names it to the other', async () => {
    const { api, payment, found } = await newMismatch('transfer_underpaid')
    const answers = await Promise.all(
      ['accept', 'return', 'accept', 'return'].map((one) => resolve(api, found.uuid, one)),
    )
    const { resolution } = await caseOf(api, payment.uuid)
    for (const [index, asked] of ['accept', 'return', 'accept', 'return'].entries()) {
      const answer = answers[index] ?? assert.fail('it has an answer')
      if (asked === resolution) assert.equal(answer.http, 200, answer.text)
      else {
        assertApiError(answer, 'case_resolved')
        assert.match(answer.body.message, new RegExp(`with ${resolution} by key:`))
      }
    }
    assert.equal(answers.filter((one) => one.http === 200 && !isReplay(one)).length, 1)
    const credits = (await postingsOf(db, payment.uuid)).filter((line) => line.includes(' unmatched KES -'))
    assert.equal(credits.length, 1)
  })
})

describe('a status that this version does not know', () => {
  it('opens a case for the operator with the provider’s words, and closes with a known answer', async () => {
    const { api } = await service.newMerchant()
    const payment = await payWith(api, 'card_unknown_status')
    assert.deepEqual([payment.status, payment.statusReason], ['processing', 'needs_review'])
    const found = await operatorCaseOf(payment.uuid)
    assert.deepEqual(
      [found.kind, found.owner, found.state, found.resolutions],
      ['unknown_answer', 'operator', 'open', ['ask_again', 'mark_paid', 'mark_failed']],
    )
    assert.match(found.providerMessage, /on_hold/)
    assert.equal(await caseOf(api, payment.uuid), undefined)
    const [event] = await eventsOf(db, found.uuid)
    assert.equal(event?.type, 'payment.needs_review')
    const read = dataOf(await api.get(`${CASES}/${found.uuid}`))
    assert.deepEqual([read.uuid, read.owner, read.resolutions], [found.uuid, 'operator', []])
    const refused = await resolve(api, found.uuid, 'ask_again')
    assert.match(refused.body.message, /^The operator of this service decides/, refused.text)
    assert.equal(dataOf(await resolve(admin, found.uuid, 'ask_again')).state, 'open')
    const path = `/api/v1/sandbox/payments/${payment.reference}/complete`
    assert.equal(dataOf(await api.post(path, { instrument: 'card_success' })).status, 'successful')
    assert.equal((await operatorCaseOf(payment.uuid)).resolution, 'gateway_answered')
    assert.equal(isReplay(await resolve(admin, found.uuid, 'ask_again')), true)
  })

  it('is resolved by the provider’s own records: paid, or failed', async () => {
    for (const [resolution, status] of [
      ['mark_paid', 'successful'],
      ['mark_failed', 'failed'],
    ] as const) {
      const { api } = await service.newMerchant()
      const payment = await payWith(api, 'card_unknown_status')
      const { uuid } = await operatorCaseOf(payment.uuid)
      const answers = await Promise.all([1, 2].map(() => resolve(admin, uuid, resolution, { proof: 'ch_1' })))
      assert.deepEqual(answers.map(isReplay).sort(), [false, true])
      const ended = dataOf(await api.get(`/api/v1/checkout/payments/${payment.uuid}`))
      assert.deepEqual([ended.status, ended.amountPaid], [status, status === 'failed' ? null : '1250.50'])
      const failures = status === 'failed' ? [/^A person marked it as failed/] : []
      assert.equal(ended.failure === null, failures.length === 0)
      for (const wanted of failures) assert.match(ended.failure.message, wanted)
    }
  })
})

describe('a refund that fails after its success', () => {
  async function failedLater() {
    const { api } = await service.newMerchant()
    const payment = await payWith(api, 'card_refund_fails_later')
    const refund = dataOf(await api.post('/api/v1/refunds', { reference: payment.reference }))
    assert.equal(refund.status, 'successful')
    const found = await eventually(
      () => caseOf(api, payment.uuid),
      (one) => one !== undefined,
      20_000,
    )
    return { api, payment, refund, found }
  }
  const refundOf = async (api: Api, uuid: string) => dataOf(await api.get(`/api/v1/refunds/${uuid}`))
  const ADDED: Record<string, string[]> = {
    accept: ['refund_reversal gateway:sandbox KES -125050', 'refund_reversal available KES 125050'],
    return: [],
    write_off: ['write_off gateway:sandbox KES -125050', 'write_off written_off KES 125050'],
  }

  it('opens a case that the merchant or the operator resolves in three ways, each once', async () => {
    const check = async (resolution: 'accept' | 'return' | 'write_off', reason: string) => {
      const { api, payment, refund, found } = await failedLater()
      assert.deepEqual(
        [found.kind, found.refundUuid, found.refundAmount],
        ['refund_failed_late', refund.uuid, '1250.50'],
      )
      assert.ok(found.providerMessage)
      const before = await postingsOf(db, payment.uuid)
      const by = resolution === 'write_off' ? admin : api
      if (resolution === 'return') {
        const refused = await resolve(by, found.uuid, resolution)
        assertApiError(refused, 'validation_failed')
        assert.equal(refused.body.error.details[0].field, 'proof')
      }
      const proof = resolution === 'return' ? { proof: 'bank-1' } : {}
      dataOf(await resolve(by, found.uuid, resolution, proof))
      assert.equal(isReplay(await resolve(by, found.uuid, resolution, proof)), true)
      assert.equal((await refundOf(api, refund.uuid)).statusReason, reason)
      assert.deepEqual((await postingsOf(db, payment.uuid)).slice(before.length), ADDED[resolution])
    }
    await Promise.all([
      check('accept', 'credited_back'),
      check('return', 'returned_elsewhere'),
      check('write_off', 'written_off'),
    ])
  })
})

describe('a refund that fails after its success and is credited back', () => {
  /** What the records, the report and the timeline say about the payment now. */
  async function seen(api: Api, uuid: string) {
    const { status, statusReason, refundedAmount } = dataOf(
      await api.get(`/api/v1/checkout/payments/${uuid}`),
    )
    const [{ refundedAmount: reported }] = dataOf(await api.get('/api/v1/reports/collections'))
    return [status, statusReason, refundedAmount, reported]
  }

  it('has failed in every record, and its amount can be refunded again', async () => {
    const { api } = await service.newMerchant()
    const { uuid } = await payWith(api, 'card_refund_fails_later')
    const refund = (refundReference: string, amount: number) =>
      api.post('/api/v1/refunds', { paymentUuid: uuid, refundReference, amount })
    const first = dataOf(await refund('r-1', 1000))
    const second = dataOf(await refund('r-2', 250.5))
    assert.deepEqual(await seen(api, uuid), ['refunded', null, '1250.50', '1250.50'])
    const cases = await eventually(
      async () => dataOf(await api.get(`${CASES}?payment=${uuid}`)),
      (found) => found.length === 2,
      20_000,
    )
    const caseAbout = (wanted: string) =>
      cases.find(({ refundUuid }: { refundUuid: string }) => refundUuid === wanted)
    dataOf(await resolve(api, caseAbout(first.uuid).uuid, 'accept'))
    assert.deepEqual(await seen(api, uuid), ['refunded', 'refund_failed', '250.50', '250.50'])
    const failed = dataOf(await api.get(`/api/v1/refunds/${first.uuid}`))
    assert.deepEqual([failed.status, failed.statusReason], ['failed', 'credited_back'])
    assert.ok(failed.failure.message)
    assert.deepEqual(
      (await eventsOf(db, first.uuid)).map(({ type }) => type),
      ['refund.pending', 'refund.successful', 'refund.failed'],
    )

    assertApiError(await refund('r-3', 1000.01), 'refund_exceeds_amount')
    dataOf(await refund('r-4', 600))
    assert.deepEqual(await seen(api, uuid), ['refunded', 'refund_failed', '850.50', '850.50'])
    dataOf(await refund('r-5', 400))
    assert.deepEqual(await seen(api, uuid), ['refunded', null, '1250.50', '1250.50'])
    assertApiError(await refund('r-6', 1), 'invalid_state')

    const timeline: { at: string; uuid: string; message: string }[] = dataOf(
      await api.get(`/api/v1/payments/${uuid}/timeline`),
    )
    const messages = timeline.filter((entry) => entry.uuid === first.uuid).map(({ message }) => message)
    assert.deepEqual(messages.slice(0, 2), [
      'A refund of KES 1000.00 was requested.',
      'The refund of KES 1000.00 ended: successful.',
    ])
    assert.match(
      messages[2] ?? '',
      /^sandbox reported that the refund of KES 1000.00 failed after its success/,
    )
    assert.match(messages[3] ?? '', /^The failed refund of KES 1000.00 was credited back/)
    assert.equal(messages.length, 4, messages.join('\n'))
    dataOf(await resolve(admin, caseAbout(second.uuid).uuid, 'write_off'))
    assert.deepEqual(await seen(api, uuid), ['refunded', null, '1250.50', '1250.50'])
  })
})

describe('a refund that fails after its success and is credited back during a dispute', () => {
  for (const isDecided of [true, false])
    it(`is claimed by the dispute that is lost ${isDecided ? 'before' : 'after'} the decision`, async () => {
      const { api } = await service.newMerchant()
      const { uuid, reference } = await payWith(api, 'card_refund_fails_later')
      dataOf(await api.post('/api/v1/refunds', { paymentUuid: uuid }))
      const found = await eventually(
        () => caseOf(api, uuid),
        (one) => one !== undefined,
        20_000,
      )
      const dispute = async (outcome: string) =>
        dataOf(await api.post(`/api/v1/sandbox/payments/${reference}/dispute`, { outcome }))
      await dispute('open')
      if (isDecided) await dispute('lost')
      const accepted = dataOf(await resolve(api, found.uuid, 'accept'))
      assert.equal(accepted.paymentStatus, isDecided ? 'reversed' : 'disputed')
      if (!isDecided) await dispute('lost')
      const sums = new Map<string, bigint>()
      for (const line of await postingsOf(db, uuid)) {
        const [, account = '', , minor = '0'] = line.split(' ')
        const own = ['available', 'pending'].includes(account) ? 'wallet' : account
        sums.set(own, (sums.get(own) ?? 0n) + BigInt(minor))
      }
      // The payer has everything back, and the merchant bears the fee.
      const fee = sums.get('fees') ?? 0n
      assert.deepEqual([sums.get('wallet'), sums.get('gateway:sandbox')], [-fee, 0n])
    })
})

describe('the endpoints of cases', () => {
  it('require a key with their scope, and the operator’s token', async () => {
    const { api, found } = await newMismatch('transfer_underpaid')
    const key = dataOf(await api.post('/api/v1/api-keys', { name: 'Reader', scopes: ['cases:read'] }))
    const reader = service.apiWith(key.apiKey)
    assert.equal((await reader.get(`${CASES}/${found.uuid}`)).http, 200)
    assertApiError(await resolve(reader, found.uuid, 'accept'), 'insufficient_scope')
    assertApiError(await service.apiWith(undefined).get(CASES), 'missing_api_key')
    for (const by of [api, service.apiWith(undefined)])
      assertApiError(await by.get(OPERATOR_CASES), 'invalid_admin_token')
  })

  it('answer another merchant’s case as an unknown one', async () => {
    const { found } = await newMismatch('transfer_underpaid')
    const { api: other } = await service.newMerchant()
    for (const uuid of [found.uuid, UNKNOWN_UUID]) {
      assertApiError(await other.get(`${CASES}/${uuid}`), 'case_not_found')
      assertApiError(await resolve(other, uuid, 'accept'), 'case_not_found')
    }
    assertApiError(await resolve(admin, UNKNOWN_UUID, 'accept'), 'case_not_found')
    assertApiError(await resolve(admin, 'nonsense', 'accept'), 'invalid_uuid')
  })

  it('list by state, kind, owner and payment, and refuse resolutions without a note or that are not possible', async () => {
    const { api, payment, found } = await newMismatch('transfer_underpaid')
    const uuids = async (by: Api, query: string) =>
      dataOf(await by.get(`${by === admin ? OPERATOR_CASES : CASES}?limit=100&${query}`)).map(
        (one: { uuid: string }) => one.uuid,
      )
    for (const query of ['', 'state=open', 'state=all', 'kind=underpaid', `payment=${payment.uuid}`])
      assert.deepEqual(await uuids(api, query), [found.uuid], query)
    for (const query of ['state=resolved', 'kind=overpaid', `payment=${UNKNOWN_UUID}`])
      assert.deepEqual(await uuids(api, query), [], query)
    assert.deepEqual(await uuids(admin, `owner=merchant&payment=${payment.uuid}`), [found.uuid])
    assert.deepEqual(await uuids(admin, `owner=operator&payment=${payment.uuid}`), [])
    assertApiError(await admin.get(`${OPERATOR_CASES}?state=nonsense`), 'validation_failed')
    for (const note of ['', '  ', 'x'.repeat(501)])
      assertApiError(await resolve(api, found.uuid, 'accept', { note }), 'validation_failed')
    const refused = await resolve(api, found.uuid, 'mark_paid', { proof: 'x' })
    assertApiError(refused, 'resolution_not_possible')
    assert.match(refused.body.message, /accept, return/)
    assertApiError(await resolve(api, found.uuid, 'nonsense'), 'validation_failed')
  })

  async function cowry(...args: string[]): Promise<{ code: number; out: string }> {
    let out = ''
    const take = (text: string) => {
      out += text
    }
    const env = { COWRY_URL: service.url, COWRY_ADMIN_TOKEN: ADMIN_TOKEN }
    const code = await runCommandLine(args, { terminal: { out: take, err: take }, env })
    return { code, out }
  }

  it('are listed, shown and resolved by cowry cases, as text and as JSON', async () => {
    const { payment, found } = await newMismatch('transfer_underpaid')
    const { uuid } = found
    const filter = ['--kind', 'underpaid', '--owner', 'merchant', '--payment', payment.uuid]
    const list = await cowry('cases', 'list', ...filter)
    assert.equal(list.code, 0, list.out)
    assert.match(list.out, new RegExp(`^${uuid} +underpaid +merchant .* open`, 'm'))
    const listed = await cowry('cases', 'list', ...filter, '--json')
    assert.deepEqual(
      JSON.parse(listed.out).data.map((one: { uuid: string }) => one.uuid),
      [uuid],
    )
    const shown = await cowry('cases', 'show', uuid)
    assert.match(shown.out, /^resolutions +accept, return, write_off$/m)
    assert.equal(JSON.parse((await cowry('cases', 'show', uuid, '--json')).out).data.uuid, uuid)
    const impossible = ['--resolution', 'mark_paid', '--proof', 'ch_1', '--note', 'Seen.']
    const refused = await cowry('cases', 'resolve', uuid, ...impossible, '--json')
    assert.equal(refused.code, 1)
    assert.equal(JSON.parse(refused.out).error.code, 'resolution_not_possible')
    const accepting = ['--resolution', 'accept', '--note', 'The shop agrees.']
    const resolved = await cowry('cases', 'resolve', uuid, ...accepting)
    assert.equal(resolved.code, 0, resolved.out)
    assert.match(resolved.out, /^state +resolved$/m)
    const again = await cowry('cases', 'resolve', uuid, ...accepting, '--json')
    const { state, resolution, note } = JSON.parse(again.out).data
    assert.deepEqual([state, resolution, note], ['resolved', 'accept', 'The shop agrees.'])
    assert.doesNotMatch((await cowry('cases', 'list', ...filter)).out, new RegExp(uuid))
    assert.match((await cowry('cases', 'list', '--state', 'resolved', ...filter)).out, new RegExp(uuid))
    assert.match((await cowry('cases', 'resolve', '--help')).out, /--resolution <resolution>/)
  })

  it('are counted by cowry doctor, which still succeeds', async () => {
    await newMismatch('transfer_underpaid')
    const { code, out } = await cowry('doctor')
    assert.equal(code, 0, out)
    assert.match(out, /^cases +ok +\d+ for the operator, [1-9]\d* for merchants: cowry cases list$/m)
  })
})
