// A fake Paystack on a real socket, written from its documentation. It accepts only the documented fields, accepts a
// reference once, and responds with the shapes of the fixtures.

import { createHmac } from 'node:crypto'
import type { TestContext } from 'node:test'
import { systemClock } from '../../../src/kit/clock.ts'
import type { ChargeBehavior, FakeProvider, RefundBehavior } from '../conformance.ts'
import { type FakeReply, type FakeRequest, startFakeServer } from '../fake-server.ts'
import { requestIssues } from '../schemas/requests.ts'
import { DIRECT_FIELDS, directError, directReply } from './fake-charges.ts'
import { createFakeRefunds, type FakeRefunds } from './fake-refunds.ts'
import {
  type Check,
  errorReply,
  type FakePayment,
  fixtureReply,
  isObject,
  isText,
  type Json,
  readFixture,
  validationError,
} from './fake-replies.ts'

export const FAKE_SECRET_KEY = 'sk_test_0a1b2c3d4e5f60718293a4b5c6d7e8f901234567'

interface Authorization {
  email: string
  behavior: ChargeBehavior
}

interface FakeState {
  payments: Map<string, FakePayment>
  authorizations: Map<string, Authorization>
  refunds: FakeRefunds
}

export async function startFakePaystack(
  t: Pick<TestContext, 'after'>,
): Promise<
  Required<Omit<FakeProvider, 'confirm' | 'refundWebhook' | 'rejectTokens' | 'savedMethodWebhook'>>
> {
  const payments = new Map<string, FakePayment>()
  const state: FakeState = { payments, authorizations: new Map(), refunds: createFakeRefunds(payments) }
  const server = await startFakeServer(t, async (request) => answer(state, request), {
    errorBody: (http) => ({
      status: false,
      message: http === 429 ? 'Please wait a few minutes' : 'An error occurred',
    }),
    issuesOf: requestIssues('paystack'),
  })
  const payment = (key: string) => {
    const found = payments.get(key)
    if (!found) throw new Error(`the fake Paystack has no payment for ${key}`)
    return found
  }
  return {
    server,
    executions: (key) => payments.get(key)?.executions ?? 0,
    finish(key, ending) {
      const record = payment(key)
      if (ending.kind === 'waits') record.status = 'pending'
      if (ending.kind === 'declines') decline(record, ending.how)
      if (ending.kind !== 'pays') return
      if (ending.currency !== undefined) record.currency = ending.currency
      if (ending.minor !== undefined) record.amount = toHundredths(ending.minor, record.currency)
      if (ending.key !== undefined) record.reference = ending.key
      collect(record)
    },
    webhook(key, event = 'charge.success') {
      const record = payments.get(key) ?? newPayment({ reference: key, amount: 125_050, currency: 'NGN' })
      return signWebhook({ event, data: serializePayment(state, record) })
    },
    savedCredential(behavior) {
      const email = 'amina.otieno@example.com'
      return JSON.stringify({ authorization_code: authorize(state, { email, behavior }), email })
    },
    dispute(key, status) {
      const record = payment(key)
      const { data } = readFixture('webhook-dispute')
      const latest = record.disputes.at(-1)
      const open = latest?.resolution === null ? latest : undefined
      const dispute = { ...DISPUTES[status], id: open?.id ?? record.id + record.disputes.length }
      record.disputes = [...record.disputes.filter((one) => one !== open), dispute]
      if (status === 'lost') record.status = 'reversed'
      const event = `charge.dispute.${status === 'open' ? 'create' : 'resolve'}`
      const transaction = { id: record.id, reference: record.reference }
      return signWebhook({ event, data: { ...Object(data), ...dispute, transaction } })
    },
    refundInDashboard(key, minor) {
      const record = payment(key)
      const amount = toHundredths(minor, record.currency)
      state.refunds.create({ transaction: key, amount, merchant_note: 'Customer called' })
      const { data, ...event } = readFixture('webhook-refund')
      return signWebhook({
        ...event,
        data: { ...Object(data), transaction_reference: key, amount: String(amount) },
      })
    },
    setRefundBehavior: (behavior: RefundBehavior) => state.refunds.end(behavior),
    refunds: (key) => state.refunds.given(payment(key)),
  }
}

/** A signed event; text is sent as it is. */
export function signWebhook(webhook: unknown, secretKey = FAKE_SECRET_KEY) {
  const body = Buffer.from(typeof webhook === 'string' ? webhook : JSON.stringify(webhook))
  const signature = createHmac('sha512', secretKey).update(body).digest('hex')
  return { headers: { 'content-type': 'application/json', 'x-paystack-signature': signature }, body }
}

function toHundredths(minor: bigint, currency: string): number {
  return Number(minor) * (currency === 'XOF' ? 100 : 1)
}

function answer(state: FakeState, request: FakeRequest): FakeReply {
  const { authorization } = request.headers
  if (authorization === undefined) return errorReply(401, 'No Authorization Header was found')
  if (authorization !== `Bearer ${FAKE_SECRET_KEY}`) return { http: 401, body: readFixture('invalid-key') }
  if (request.method === 'POST' && request.headers['content-type'] !== 'application/json')
    return errorReply(400, 'The body is not JSON')
  const [resource, name, ...rest] = request.path.slice(1).split('/').map(decodeURIComponent)
  switch (`${request.method} ${resource}`) {
    case 'POST transaction':
      if (name === 'initialize') return initialize(state, readBody(request))
      if (name === 'charge_authorization') return charge(state, readBody(request))
      break
    case 'POST charge':
      if (name === undefined) return chargeDirectly(state, readBody(request))
      break
    case 'GET transaction':
      if (name === 'verify' && rest[0] !== undefined) return verify(state, rest[0])
      break
    case 'POST refund':
      return state.refunds.create(readBody(request))
    case 'GET refund':
      return name === undefined ? state.refunds.list(request.query) : state.refunds.show(name)
    case 'GET dispute':
      if (name === 'transaction' && rest[0] !== undefined) return listDisputes(state, rest[0])
      break
    case 'GET balance':
      return { http: 200, body: readFixture('balance') }
  }
  return errorReply(404, 'Entity not found')
}

function readBody(request: FakeRequest): Json {
  return JSON.parse(request.text)
}

const CHANNELS = 'card bank apple_pay ussd qr mobile_money bank_transfer eft capitec_pay payattitude'.split(
  ' ',
)

const PAYMENT_FIELDS: Record<string, Check> = {
  email: (value) => isText(value) && String(value).includes('@'),
  amount: (value) => Number.isSafeInteger(value) && Number(value) > 0,
  currency: isText,
  reference: (value) => /^[A-Za-z0-9.=-]+$/.test(String(value)),
}

const INITIALIZE_FIELDS: Record<string, Check> = {
  ...PAYMENT_FIELDS,
  callback_url: isText,
  channels: (value) => Array.isArray(value) && value.every((one) => CHANNELS.includes(one)),
  metadata: isObject,
}

const CHARGE_FIELDS: Record<string, Check> = {
  ...PAYMENT_FIELDS,
  authorization_code: isText,
  // JSON as text.
  metadata: (value) => isText(value) && isObject(JSON.parse(String(value))),
}

/** The minimum of each currency in hundredths; the account does not support other currencies. */
const MINIMUMS: Readonly<Record<string, number>> = {
  NGN: 5_000,
  USD: 200,
  GHS: 10,
  ZAR: 100,
  KES: 300,
  XOF: 100,
}

function paymentError(state: FakeState, body: Json): FakeReply | undefined {
  const { currency, amount, reference } = body
  const minimum = MINIMUMS[String(currency)]
  if (minimum === undefined) return { http: 400, body: readFixture('currency-not-supported') }
  if (Number(amount) < minimum) return errorReply(400, 'Invalid Amount Sent')
  if (currency === 'XOF' && Number(amount) % 100 !== 0) return errorReply(400, 'Invalid Amount Sent')
  if (state.payments.has(String(reference))) return { http: 400, body: readFixture('duplicate-reference') }
  return undefined
}

let nextId = 4_099_260_516

function newPayment({ reference, amount, currency, email = 'amina.otieno@example.com' }: Json): FakePayment {
  nextId += 1
  return {
    id: nextId,
    reference: String(reference),
    status: 'abandoned',
    amount: Number(amount),
    requestedAmount: Number(amount),
    currency: String(currency),
    email: String(email),
    gatewayResponse: 'The transaction was not completed',
    paidAt: null,
    executions: 0,
    disputes: [],
  }
}

function begin({ payments }: FakeState, body: Json): FakePayment {
  const record = newPayment(body)
  payments.set(record.reference, record)
  return record
}

function initialize(state: FakeState, body: Json): FakeReply {
  const error = validationError(body, INITIALIZE_FIELDS, ['email', 'amount']) ?? paymentError(state, body)
  if (error) return error
  const { reference, id } = begin(state, body)
  const code = `access${id}`
  return fixtureReply('initialize', {
    authorization_url: `https://checkout.paystack.com/${code}`,
    access_code: code,
    reference,
  })
}

function charge(state: FakeState, body: Json): FakeReply {
  const error =
    validationError(body, CHARGE_FIELDS, ['email', 'amount', 'authorization_code']) ??
    paymentError(state, body)
  if (error) return error
  const saved = state.authorizations.get(String(body.authorization_code))
  if (!saved) return errorReply(400, 'Invalid Authorization Code')
  if (saved.email !== body.email)
    return errorReply(400, 'Email does not match Authorization code. Authorization may be inactive.')
  const record = begin(state, body)
  const { behavior } = saved
  if (behavior === 'wants_customer') return fixtureReply('charge-paused', { reference: record.reference })
  if (behavior === 'approves') collect(record)
  else if (behavior === 'waits') record.status = 'pending'
  else decline(record, behavior.declines)
  const { reference, status, amount, currency, gatewayResponse, id } = record
  const transaction_date = systemClock.now().toISOString()
  const shown = {
    reference,
    status,
    amount,
    currency,
    gateway_response: gatewayResponse,
    id,
    transaction_date,
  }
  return fixtureReply('charge-success', shown)
}

function chargeDirectly(state: FakeState, body: Json): FakeReply {
  const error =
    validationError(body, { ...PAYMENT_FIELDS, ...DIRECT_FIELDS }, ['email', 'amount']) ??
    paymentError(state, body) ??
    directError(body)
  return error ?? directReply(begin(state, body), body)
}

const DISPUTES = {
  open: { status: 'awaiting-merchant-feedback', resolution: null },
  won: { status: 'resolved', resolution: 'declined' },
  lost: { status: 'resolved', resolution: 'merchant-accepted' },
}

function listDisputes({ payments }: FakeState, id: string): FakeReply {
  const record = [...payments.values()].find((one) => String(one.id) === id)
  if (!record) return errorReply(404, 'Transaction not found')
  const { amount: refund_amount, currency, disputes } = record
  const data = disputes.map((dispute) => ({ ...dispute, refund_amount, currency }))
  return { http: 200, body: { status: true, message: 'Disputes retrieved', data } }
}

function verify(state: FakeState, reference: string): FakeReply {
  const record = state.payments.get(reference)
  if (!record) return { http: 404, body: readFixture('not-found') }
  return fixtureReply('verify-success', serializePayment(state, record))
}

function serializePayment(state: FakeState, record: FakePayment): Json {
  const { data } = readFixture('verify-success')
  const { authorization, customer } = Object(data)
  const isPaid = record.status === 'success'
  const code = isPaid && authorize(state, { email: record.email, behavior: 'approves' })
  return {
    ...Object(data),
    id: record.id,
    status: record.status,
    reference: record.reference,
    amount: record.amount,
    requested_amount: record.requestedAmount,
    currency: record.currency,
    gateway_response: record.gatewayResponse,
    paid_at: record.paidAt,
    paidAt: record.paidAt,
    // Empty text, a number or an object: Paystack's responses vary.
    metadata: isPaid ? '' : 0,
    authorization: isPaid ? { ...authorization, authorization_code: code, ...record.direct } : {},
    customer: { ...customer, email: record.email },
  }
}

function collect(record: FakePayment): void {
  if (record.status === 'success') return
  record.status = 'success'
  record.gatewayResponse = 'Successful'
  record.paidAt = systemClock.now().toISOString()
  record.executions += 1
}

function decline(record: FakePayment, how: string): void {
  record.status = 'failed'
  record.gatewayResponse = how
}

/** One authorization per e-mail and behavior, as for a card that is used twice. */
function authorize({ authorizations }: FakeState, requested: Authorization): string {
  const serialized = JSON.stringify(requested)
  const known = [...authorizations].find(([, one]) => JSON.stringify(one) === serialized)
  const code = known?.[0] ?? `AUTH_fake${authorizations.size}`
  authorizations.set(code, requested)
  return code
}
