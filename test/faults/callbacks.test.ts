// Callbacks of providers that sign nothing, name only their own id, or say something that no status check returns.

import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { after, afterEach, describe, it } from 'node:test'
import { startAttempt } from '../../src/checkout/start-attempt.ts'
import { requireCheckoutPayment } from '../../src/checkout/view.ts'
import type { MethodConsent } from '../../src/consents/consent.ts'
import { money } from '../../src/core/money.ts'
import { gatewayWebhookRoutes } from '../../src/gateway-webhooks/receive.ts'
import { retryGatewayWebhooks } from '../../src/gateway-webhooks/retry.ts'
import type {
  CheckoutChoice,
  ParsedWebhook,
  RefundOutcome,
  RefundRequest,
  StatusQuery,
} from '../../src/gateways/gateway.ts'
import { sql } from '../../src/kit/db/db.ts'
import type { LogFields } from '../../src/kit/observability/log.ts'
import { applyOutcome } from '../../src/outcomes/apply.ts'
import { claimRefunds } from '../../src/refunds/advance.ts'
import { requestRefund } from '../../src/refunds/request.ts'
import type { CallbackSubject } from '../../src/secrets/callback-paths.ts'
import { newReference } from '../support/builders.ts'
import { CARD, NAME, paid, paymentsRig, STARTED } from '../support/payments-rig.ts'

const rig = await paymentsRig({ after })
const { app, clock, db, gateway } = rig
const DAY_MS = 86_400_000

const logged: LogFields[] = []
app.log = { write: (key, fields) => void (key.startsWith('gateway_webhook') && logged.push(fields ?? {})) }

// The provider signs nothing: a callback is accepted from a secret path alone, or if the test says that it is signed.
gateway.parseWebhook = ({ rawBody, headers, callback }) =>
  callback === null && !headers.signed ? { kind: 'forged' } : JSON.parse(rawBody.toString())

const queries: StatusQuery[] = []
const verifyScripted = gateway.verify
gateway.verify = (query, reference) => {
  queries.push(query)
  return verifyScripted(query, reference)
}
let refundOutcome: (request: RefundRequest) => RefundOutcome = () => UNKNOWN
const UNKNOWN: RefundOutcome = { kind: 'unknown', reason: 'no_answer', message: 'only a callback tells' }
gateway.refund = async (request) => refundOutcome(request)
gateway.verifyRefund = async (request) => refundOutcome(request)

const postponeRefunds = sql<unknown>`
  update refunds set due_at = timestamptz '2999-01-01T00:00:00Z' where due_at is not null`

afterEach(async () => {
  queries.splice(0)
  logged.splice(0)
  refundOutcome = () => UNKNOWN
  await db.query(postponeRefunds)
  await rig.endTest()
})

type Payload = Exclude<ParsedWebhook, { kind: 'forged' | 'ignored' }>

const routes = gatewayWebhookRoutes(app)
const request = (body: Payload) => ({
  method: 'PUT' as const,
  query: {},
  headers: {},
  rawBody: Buffer.from(JSON.stringify(body)),
})
const pathOf = (subject: CallbackSubject) =>
  app.gateways.callbackPaths.pathOf({ gateway: NAME, merchantId: null, accountId: null }, subject)

/** The HTTP status of a callback to the secret path of this subject. */
async function call(subject: CallbackSubject, body: Payload): Promise<number | undefined> {
  const [, , name = '', scope = '', named = '', mac = ''] = pathOf(subject).split('/')
  const params = { gateway: name, scope, subject: named, mac }
  return (await routes[2]?.handle({ ...request(body), params }))?.http
}

async function sendSigned(body: Payload): Promise<number | undefined> {
  const headers = { signed: 'yes' }
  return (await routes[0]?.handle({ ...request(body), headers, params: { gateway: NAME } }))?.http
}

const setReference = sql<unknown>`update attempts set gateway_reference = $2, due_at = $3 where payment_id = $1`

/** A checkout whose payer acts at the provider; its next poll is in a day. */
async function underWay(
  reference: string | null = `ref-${randomUUID()}`,
  choice: CheckoutChoice = { channel: 'card' },
) {
  const payment = await rig.checkout()
  gateway.answers('startCheckout', STARTED)
  await startAttempt(app, await requireCheckoutPayment(app, rig.merchant, payment.reference), choice)
  const storeAnswer = (one: string | null) =>
    db.query(setReference, [payment.id, one, new Date(clock.now().getTime() + DAY_MS)])
  await storeAnswer(reference)
  const { gatewayKey: key } = await rig.attempt(payment.id)
  return { id: payment.id, key, reference: reference ?? '', storeAnswer }
}

const about = (gatewayReference: string, eventId: string = randomUUID()): Payload => ({
  kind: 'payment',
  gatewayReference,
  eventId,
})

describe('a callback that names only the id of the provider', () => {
  it('makes the attempt with that reference due, once for many copies', async () => {
    const { id, reference } = await underWay()
    const eventId = randomUUID()
    const answers = await Promise.all(
      Array.from({ length: 20 }, () => call({ kind: 'account' }, about(reference, eventId))),
    )
    assert.deepEqual(new Set(answers), new Set([200]))
    gateway.answers('verify', paid())
    assert.equal(await rig.resolve(), 1)
    assert.equal((await rig.payment(id)).status, 'successful')
    assert.equal(await call({ kind: 'account' }, about(reference, eventId)), 200)
    assert.equal(await rig.resolve(), 0)
    assert.equal(await rig.credits(id), 1)
  })

  it('is matched some seconds later if it arrives before the answer of our own call', async () => {
    const { id, storeAnswer } = await underWay(null)
    const reference = `late-${id}`
    assert.equal(await sendSigned(about(reference)), 200)
    assert.equal(await rig.resolve(), 0)
    await storeAnswer(reference)
    clock.advance(5_000)
    assert.equal(await retryGatewayWebhooks(app), 1)
    gateway.answers('verify', paid())
    assert.equal(await rig.resolve(), 1)
    assert.equal((await rig.payment(id)).status, 'successful')
    clock.advance(DAY_MS)
    assert.equal(await retryGatewayWebhooks(app), 0)
  })

  it('wakes no attempt of another gateway or account with the same reference', async () => {
    const { id, reference } = await underWay()
    await db.query(sql<unknown>`update attempts set gateway = 'elsewhere' where payment_id = $1`, [id])
    assert.equal(await sendSigned(about(reference)), 200)
    clock.advance(5_000)
    assert.equal(await retryGatewayWebhooks(app), 1)
    assert.equal(await rig.resolve(), 0)
    await db.query(sql<unknown>`update attempts set gateway = $2 where payment_id = $1`, [id, NAME])
  })

  it('is rejected without a signature or a secret path', async () => {
    const { reference } = await underWay()
    const answer = await routes[0]?.handle({ ...request(about(reference)), params: { gateway: NAME } })
    assert.equal(answer?.http, 401)
    assert.equal(await rig.resolve(), 0)
  })

  it('reaches the refunds of the attempt too', async () => {
    const { id, reference } = await underWay()
    const woken: string[] = []
    const { wakeRefunds } = app
    app.wakeRefunds = async ({ key }) => void woken.push(key)
    await sendSigned(about(reference))
    app.wakeRefunds = wakeRefunds
    assert.deepEqual(woken, [(await rig.attempt(id)).gatewayKey])
  })
})

const REPORT = JSON.stringify({ receipt: 'NE10ABCDEF', amount: '100.00' })

const withReport = (key: string, report: string, isFinal = false): Payload => ({
  kind: 'payment',
  key,
  eventId: randomUUID(),
  report,
  ...(isFinal && { isFinalReport: true }),
})

describe('the report of a callback about an attempt', () => {
  const reportOf = async (id: string) => (await rig.attempt(id)).report

  it('is passed to the status check, which alone ends the payment', async () => {
    const { id, key } = await underWay()
    assert.equal(await call({ kind: 'attempt', key }, withReport(key, REPORT)), 200)
    gateway.answers('verify', { kind: 'pending', gatewayReference: null })
    assert.equal(await rig.resolve(), 1)
    assert.deepEqual(
      queries.map(({ report }) => report),
      [REPORT],
    )
    assert.equal((await rig.payment(id)).status, 'processing')
  })

  it('is stored only from the secret path of this attempt', async () => {
    const [one, other] = [await underWay(), await underWay()]
    assert.equal(await sendSigned(withReport(one.key, REPORT)), 200)
    assert.equal(await call({ kind: 'account' }, withReport(one.key, REPORT)), 200)
    assert.deepEqual(
      logged.map(({ reason }) => reason),
      ['not_proved', 'not_proved'],
    )
    for (const subject of [
      { kind: 'attempt', key: other.key },
      { kind: 'refund', key: one.key },
    ] as const)
      assert.equal(await call(subject, withReport(one.key, REPORT)), 401)
    assert.equal(await reportOf(one.id), null)
    assert.equal(await reportOf(other.id), null)
  })

  it('is the first one, until the connector says that a later one is final', async () => {
    const { id, key } = await underWay()
    const send = (report: string, isFinal?: boolean) =>
      call({ kind: 'attempt', key }, withReport(key, report, isFinal))
    for (const [report, isFinal, kept] of [
      ['"timeout"', false, '"timeout"'],
      ['"paid"', false, '"timeout"'],
      ['"paid"', true, '"paid"'],
      ['"declined"', true, '"paid"'],
      ['"declined"', false, '"paid"'],
      ['"paid"', true, '"paid"'],
    ] as const) {
      assert.equal(await send(report, isFinal), 200)
      assert.equal(await reportOf(id), kept)
    }
    assert.deepEqual(
      logged.map(({ reason }) => reason),
      ['another_report', 'another_report', 'another_report'],
    )
  })

  it('triggers a status check if it is a new one, although the callback has the same event id', async () => {
    const { id, key } = await underWay()
    const send = (report: string, isFinal = false) =>
      call({ kind: 'attempt', key }, { ...withReport(key, report, isFinal), eventId: 'the same' } as Payload)
    await send('"timeout"')
    gateway.answers('verify', { kind: 'pending', gatewayReference: null })
    assert.equal(await rig.resolve(), 1)
    await send('"timeout"')
    assert.equal(await rig.resolve(), 0, 'a repeated callback costs no status check')
    await send('"paid"', true)
    gateway.answers('verify', paid())
    assert.equal(await rig.resolve(), 1)
    assert.equal(queries.at(-1)?.report, '"paid"')
    assert.equal((await rig.payment(id)).status, 'successful')
  })

  it('is stored without control characters, and not if it has more than 4 KB', async () => {
    const [one, other] = [await underWay(), await underWay()]
    const odd = '"a\u0000b\u0007\ud800"'
    assert.equal(await call({ kind: 'attempt', key: one.key }, withReport(one.key, odd)), 200)
    assert.equal(await reportOf(one.id), '"a b \ufffd"')
    for (const large of ['x'.repeat(4_097), '\u20ac'.repeat(1_366)])
      assert.equal(await call({ kind: 'attempt', key: other.key }, withReport(other.key, large)), 200)
    assert.equal(await reportOf(other.id), null)
    assert.equal(
      await call({ kind: 'attempt', key: other.key }, withReport(other.key, 'x'.repeat(4_096))),
      200,
    )
    assert.equal((await reportOf(other.id))?.length, 4_096)
  })

  it('brings the receipt number of a payment that a poll has found before', async () => {
    const { id, key } = await underWay()
    await rig.deliverWebhook(await rig.attempt(id))
    gateway.answers('verify', paid())
    assert.equal(await rig.resolve(), 1)
    const receiptOf = async () => (await rig.attempt(id)).receiptNumber
    assert.equal(await receiptOf(), null)
    const fromReport = ({ receiptNumber }: { receiptNumber: string }) => paid({ receiptNumber, paidAt: null })
    const callback = withReport(key, REPORT)
    assert.equal(await call({ kind: 'attempt', key }, callback), 200)
    gateway.answers('verify', fromReport({ receiptNumber: 'NE10ABCDEF' }))
    assert.equal(await rig.resolve(), 1)
    assert.equal(queries.at(-1)?.isPaid, true)
    assert.equal(queries.at(-1)?.report, REPORT)
    assert.equal(await receiptOf(), 'NE10ABCDEF')
    assert.equal(await call({ kind: 'attempt', key }, callback), 200)
    assert.equal(await rig.resolve(), 0, 'a repeated callback costs no status check')
    await rig.deliverWebhook(await rig.attempt(id), { checksPaid: true })
    gateway.answers('verify', fromReport({ receiptNumber: 'ANOTHER' }))
    assert.equal(await rig.resolve(), 1)
    assert.equal(await receiptOf(), 'NE10ABCDEF')
    assert.equal(await rig.credits(id), 1)
  })

  it('counts event ids for its attempt only, so that one path cannot suppress the callbacks of another', async () => {
    const [one, other] = [await underWay(), await underWay()]
    for (const { key } of [one, other])
      assert.equal(await call({ kind: 'attempt', key }, { kind: 'payment', key, eventId: 'the same' }), 200)
    gateway.answers('verify', paid(), paid())
    assert.equal(await rig.resolve(), 2)
  })
})

describe('the report of a callback about a refund', () => {
  const selectRefund = sql<{ key: string; status: string; report: string | null; polls: number }>`
    select gateway_key as key, status, report, polls from refunds where payment_id = $1`

  /** A refund whose outcome no status check returns. */
  async function refundUnderWay() {
    const { id } = await underWay()
    await rig.deliverWebhook(await rig.attempt(id))
    gateway.answers('verify', paid())
    assert.equal(await rig.resolve(), 1)
    const { reference } = await rig.payment(id)
    const input = {
      ...{ refundReference: newReference(), payment: { reference } },
      ...{ amount: null, reason: null, metadata: {} },
    }
    await requestRefund(app, rig.merchant, input, undefined)
    const read = async () => {
      const [row] = await db.query(selectRefund, [id])
      assert.ok(row)
      return row
    }
    return { id, read, ...(await read()) }
  }

  const pollRefunds = async () => {
    const pieces = await claimRefunds(app, 100)
    for (const piece of pieces) await piece()
    return pieces.length
  }

  const fromReport = ({ report }: RefundRequest): RefundOutcome =>
    report === undefined ? UNKNOWN : JSON.parse(report)

  for (const outcome of [
    { kind: 'succeeded', gatewayReference: 'OR1' },
    { kind: 'failed', message: 'The balance is too low.', gatewayReference: null },
  ] satisfies RefundOutcome[])
    it(`lets the status check end the refund as ${outcome.kind}`, async () => {
      refundOutcome = fromReport
      const { key, status, read } = await refundUnderWay()
      assert.equal(status, 'pending')
      const report = JSON.stringify(outcome)
      assert.equal(await call({ kind: 'refund', key }, { kind: 'own_refund', key, report }), 200)
      assert.equal((await read()).status, 'pending', 'a report ends nothing by itself')
      assert.equal(await pollRefunds(), 1)
      assert.equal((await read()).status, outcome.kind === 'succeeded' ? 'successful' : 'failed')
      assert.equal(await call({ kind: 'refund', key }, { kind: 'own_refund', key, report }), 200)
    })

  it('is stored only from the secret path of this refund, and the first one is kept', async () => {
    const { key, read } = await refundUnderWay()
    const own = { kind: 'own_refund', key, report: REPORT } as const
    assert.equal(await sendSigned(own), 200)
    for (const kind of ['refund', 'refund_status'] as const)
      assert.equal(await call({ kind, key: randomUUID() }, own), 401)
    assert.equal(await call({ kind: 'attempt', key }, own), 401)
    assert.equal((await read()).report, null)
    assert.equal(await pollRefunds(), 1, 'a callback without a proved report still triggers a status check')
    assert.equal(await call({ kind: 'refund', key }, own), 200)
    assert.equal(await call({ kind: 'refund', key }, { ...own, report: '"other"' }), 200)
    assert.equal((await read()).report, REPORT)
    const end = { ...own, report: '"end"', isFinalReport: true } as const
    assert.equal(await call({ kind: 'refund_status', key }, end), 200)
    assert.equal((await read()).report, '"end"')
    assert.deepEqual(
      logged.map(({ reason }) => reason),
      ['not_proved', 'another_report'],
    )
  })

  it('does not make a refund that is due already look like one that was never polled', async () => {
    const { key, read } = await refundUnderWay()
    const own = { kind: 'own_refund', key } as const
    clock.advance(DAY_MS)
    assert.equal(await pollRefunds(), 1)
    const { polls } = await read()
    assert.ok(polls > 0)
    clock.advance(DAY_MS)
    assert.equal(await call({ kind: 'refund', key }, own), 200)
    assert.equal((await read()).polls, polls)
    assert.equal(await pollRefunds(), 1)
    assert.equal(await call({ kind: 'refund', key }, own), 200)
    assert.equal((await read()).polls, 0)
  })

  it('changes nothing if we do not know the refund', async () => {
    const key = randomUUID()
    assert.equal(await call({ kind: 'refund', key }, { kind: 'own_refund', key, report: REPORT }), 200)
    assert.equal(await pollRefunds(), 0)
  })
})

describe('a success without a time', () => {
  it('is dated when we learned of it, and never again', async () => {
    const { id } = await underWay()
    clock.advance(60_000)
    const learnedAt = clock.now()
    await rig.deliverWebhook(await rig.attempt(id))
    gateway.answers('verify', paid({ paidAt: null }))
    assert.equal(await rig.resolve(), 1)
    assert.deepEqual((await rig.payment(id)).paidAt, learnedAt)
    clock.advance(60_000)
    await rig.deliverWebhook(await rig.attempt(id), { checksPaid: true })
    gateway.answers('verify', paid({ paidAt: null }))
    assert.equal(await rig.resolve(), 1)
    assert.deepEqual((await rig.payment(id)).paidAt, learnedAt)
  })
})

describe('the method of a paid checkout about which the provider does not answer', () => {
  const CONSENT: MethodConsent = {
    agreedAt: '2026-11-17T03:00:00Z',
    source: 'checkout',
    form: 'notice',
    wordingVersion: '2',
    language: 'en',
  }

  it('does not delay the payment, and is saved when the provider answers', async () => {
    const { id } = await underWay(undefined, { channel: 'card', consent: CONSENT })
    await rig.deliverWebhook(await rig.attempt(id))
    gateway.answers('verify', paid({ isMethodPending: true }))
    assert.equal(await rig.resolve(), 1)
    assert.equal(queries.at(-1)?.savesMethod, true)
    const first = await rig.payment(id)
    assert.deepEqual([first.status, first.paymentMethodId], ['successful', null])
    for (const answer of [paid({ isMethodPending: true }), paid({ savedMethod: CARD })]) {
      // The next poll is up to a day later, and the jitter adds a fifth.
      clock.advance(2 * DAY_MS)
      gateway.answers('verify', answer)
      assert.equal(await rig.resolve(), 1)
      assert.deepEqual([queries.at(-1)?.isPaid, queries.at(-1)?.savesMethod], [true, true])
    }
    assert.notEqual((await rig.payment(id)).paymentMethodId, null)
    clock.advance(DAY_MS)
    assert.equal(await rig.resolve(), 0, 'it is saved')
    assert.equal(await rig.credits(id), 1)
  })

  it('is saved also if the payment has moved while the provider was asked', async () => {
    const { id } = await underWay(undefined, { channel: 'card', consent: CONSENT })
    await rig.deliverWebhook(await rig.attempt(id))
    gateway.answers('verify', paid({ isMethodPending: true }))
    assert.equal(await rig.resolve(), 1)
    const [payment, attempt] = [await rig.payment(id), await rig.attempt(id)]
    const read = { payment: { ...payment, version: payment.version - 1 }, attempt }
    const amount = money(payment.amountMinor, 'KES')
    const outcome = paid({ savedMethod: CARD })({ key: attempt.gatewayKey, amount })
    await applyOutcome(app, gateway, read, outcome, { source: 'resolver' })
    const { paymentMethodId } = await rig.payment(id)
    assert.notEqual(paymentMethodId, null)
    await applyOutcome(app, gateway, read, outcome, { source: 'resolver' })
    assert.equal((await rig.payment(id)).paymentMethodId, paymentMethodId)
  })
})
