// A fake Flutterwave, written from its documentation, including its errors. It knows a reference from the first try to
// pay on, refuses it for the next two minutes, and accepts exactly the fields of its API.

import { randomUUID } from 'node:crypto'
import type { TestContext } from 'node:test'
import { type Currency, decimalsOf, isCurrency } from '../../../src/core/currency.ts'
import type { ChargeBehavior, CheckoutEnding, FakeProvider, RefundBehavior, Webhook } from '../conformance.ts'
import { type FakeReply, type FakeRequest, startFakeServer } from '../fake-server.ts'
import { chargeReply, fieldsOf, findChargeIssue } from './fake-charges.ts'
import { type Json, readFixture } from './fixture.ts'

export { type Json, readFixture } from './fixture.ts'

export const SECRET_KEY = 'FLWSECK_TEST-8c1f0d2b6e7a4935b0c8d1e2f3a4b5c6-X'
export const WEBHOOK_HASH = 'a-hash-typed-in-the-dashboard'

/** Every decline reason, in the texts that Flutterwave passes on. */
const REASONS = [
  ['Insufficient Funds', 'insufficient_funds'],
  ['No sufficient funds', 'insufficient_funds'],
  ['Do Not Honour', 'do_not_honor'],
  ['Declined', 'do_not_honor'],
  ['Transaction not permitted to cardholder', 'do_not_honor'],
  ['Refer to card issuer', 'do_not_honor'],
  ['Expired card', 'card_expired'],
  ['Invalid card number', 'invalid_card'],
  ['Restricted card', 'invalid_card'],
  ['Incorrect PIN', 'authentication_failed'],
  ['OTP Validation Failed', 'authentication_failed'],
  ['3DSecure authentication failed', 'authentication_failed'],
  ['Exceeds withdrawal limit', 'limit_exceeded'],
  ['Daily transaction limit exceeded', 'limit_exceeded'],
  ['Suspected fraud', 'suspected_fraud'],
  ['Stolen card', 'suspected_fraud'],
  ['ABORTED', 'customer_cancelled'],
  ['Transaction timed out', 'customer_timeout'],
  ['Subscriber not found', 'wallet_not_found'],
  ['ACQUIRER_SYSTEM_ERROR', 'provider_unavailable'],
  ['Issuer or switch inoperative', 'provider_unavailable'],
  ['Duplicate transaction', 'duplicate'],
  ['Something that no bank has said before', 'unknown'],
] as const

const CANCELS = 'cancelled'

export const FLUTTERWAVE_DECLINES = [
  ...REASONS.map(([how, code]) => ({ how, code, on: 'checkout' as const })),
  ...REASONS.map(([how, code]) => ({ how, code, on: 'charge' as const })),
  { how: CANCELS, code: 'customer_cancelled' as const, on: 'checkout' as const },
]

// How long a used reference is refused, according to the error message.
const REFERENCE_RETENTION_MS = 120_000

const FIELDS = {
  payments: [
    'tx_ref amount currency redirect_url customer payment_options meta customizations session_duration',
    'max_retry_attempt configurations payment_plan subaccounts payload_hash',
  ],
  'tokenized-charges': [
    'token email currency country amount tx_ref narration first_name last_name ip redirect_url',
    'device_fingerprint preauthorize',
  ],
  refund: ['amount comments'],
} as const

interface Page {
  amount: number
  currency: string
  email: string
  meta: unknown
  /** Of a direct charge, which has no page. */
  record?: Json
}

interface Transaction {
  /** The reference of the request, even if the record shows another one. */
  madeFor: string
  madeAtMs: number
  record: Json
}

interface Chargeback {
  id: number
  amount: number
  flw_ref: string
  tx_ref: string
  transaction_id: number
  status: string
  stage: string
  due_date: string
  settlement_id: string
  created_at: string
}

interface Refund {
  txId: number
  row: Json & { id: number; status: string; amount_refunded: number; comment: string | null }
}

export interface FakeFlutterwave
  extends Required<Omit<FakeProvider, 'confirm' | 'refundWebhook' | 'rejectTokens' | 'savedMethodWebhook'>> {
  /** Opens a chargeback in this status, or gives the open one this status. Returns the webhook about it. */
  chargeBack(key: string, status: string): Webhook
  /** Advances the provider's clock. */
  advance(ms: number): void
}

export async function startFakeFlutterwave(t: Pick<TestContext, 'after'>): Promise<FakeFlutterwave> {
  const pages = new Map<string, Page>()
  const transactions: Transaction[] = []
  const tokens = new Map<string, { behavior: ChargeBehavior; email: string }>()
  const refunds: Refund[] = []
  const chargebacks: Chargeback[] = []
  let refundBehavior: RefundBehavior = 'succeeds'
  let offsetMs = 0
  let lastId = 4_975_000

  const now = () => Date.now() + offsetMs
  const nextId = () => {
    lastId += 1
    return lastId
  }
  const findLatest = (reference: string | null) =>
    transactions.findLast(({ madeFor }) => madeFor === reference)
  const findById = (id: string | undefined) => transactions.find(({ record }) => String(record.id) === id)

  const make = (madeFor: string, changes: Json): Json => {
    const created_at = new Date(now()).toISOString()
    const template = readFixture('verify-card').data as Json
    const record = {
      ...template,
      id: nextId(),
      tx_ref: madeFor,
      created_at,
      flw_ref: `FLW-MOCK-${randomUUID()}`,
      ...changes,
    }
    transactions.push({ madeFor, madeAtMs: now(), record })
    return record
  }

  const issueToken = (behavior: ChargeBehavior, email: string): string => {
    const token = `flw-t1nf-${randomUUID().replaceAll('-', '')}-m03k`
    tokens.set(token, { behavior, email })
    return token
  }

  const openPage = (body: Json): FakeReply => {
    const { tx_ref, amount, currency = 'NGN', customer, redirect_url } = body
    const email = (customer as Json | undefined)?.email
    if (typeof tx_ref !== 'string' || tx_ref.length > 100) return errorReply('tx_ref is required')
    if (typeof amount !== 'number' || !isPayable(amount, currency)) return errorReply('amount is not valid')
    if (typeof email !== 'string') return errorReply('customer.email is required')
    if (typeof redirect_url !== 'string') return errorReply('redirect_url is required')
    if (!isKnownOption(body.payment_options)) return errorReply('payment_options is not valid')
    if (isUsed(tx_ref)) return { http: 400, body: readFixture('charge-duplicate') }
    pages.set(tx_ref, { amount, currency: String(currency), email, meta: body.meta ?? null })
    const link = `https://checkout.flutterwave.com/v3/hosted/pay/${randomUUID()}`
    return { http: 200, body: { ...readFixture('payment-link'), data: { link } } }
  }

  const isUsed = (reference: string) => {
    const latest = findLatest(reference)
    return latest !== undefined && latest.madeAtMs + REFERENCE_RETENTION_MS > now()
  }

  const chargeDirectly = (type: string | null, body: Json): FakeReply => {
    const issue = findChargeIssue(type, body)
    if (issue) return errorReply(issue)
    const { tx_ref, amount, currency, email, meta = null } = body
    if (typeof amount !== 'number' || !isPayable(amount, currency)) return errorReply('amount is not valid')
    if (isUsed(String(tx_ref))) return { http: 400, body: readFixture('charge-duplicate') }
    const waiting = { status: 'pending', processor_response: 'Transaction in progress', card: undefined }
    const record = make(String(tx_ref), { amount, currency, meta, charged_amount: amount, ...waiting })
    pages.set(String(tx_ref), { amount, currency: String(currency), email: String(email), meta, record })
    return chargeReply(type, body, record, now())
  }

  const charge = (body: Json): FakeReply => {
    const { token, email, amount, currency, country, tx_ref, redirect_url } = body
    const saved = tokens.get(String(token))
    if (typeof tx_ref !== 'string') return errorReply('tx_ref is required')
    if (typeof amount !== 'number' || !isPayable(amount, currency)) return errorReply('amount is not valid')
    if (typeof country !== 'string' || !/^[A-Z]{2}$/.test(country)) return errorReply('country is required')
    if (typeof redirect_url !== 'string') return errorReply('Provide a valid redirect url')
    if (!saved || saved.email !== email) return errorReply('Wrong token or email passed')
    if (isUsed(tx_ref)) return { http: 400, body: readFixture('charge-duplicate') }
    const app_fee = feeOf(amount, currency)
    const charged = { amount, currency, charged_amount: amount, app_fee }
    const data = make(tx_ref, { ...charged, ...toCharge(saved.behavior) })
    return { http: 200, body: { status: 'success', message: 'Charge initiated', data } }
  }

  const createRefund = (id: string | undefined, body: Json): FakeReply => {
    const transaction = findById(id)
    if (!transaction) return errorReply('No transaction was found for this id')
    const txId = Number(transaction.record.id)
    const given = refunds.filter((refund) => refund.txId === txId && refund.row.status !== 'failed')
    const sum = given.reduce((total, { row }) => total + cents(row.amount_refunded), 0)
    const { amount = transaction.record.amount, comments = null } = body
    if (cents(Number(amount)) + sum > cents(Number(transaction.record.amount)))
      return errorReply('Refund amount is greater than what is left of the transaction')
    const template = readFixture('refund').data as Json
    const row = {
      ...template,
      id: nextId(),
      tx_id: txId,
      amount_refunded: Number(amount),
      status: REFUND_STATUSES[refundBehavior],
      comment: comments as string | null,
    }
    refunds.push({ txId, row })
    const { comment: _comment, ...data } = row
    return { http: 200, body: { ...readFixture('refund'), data } }
  }

  const chargeBack = (key: string, status: string): Webhook => {
    const { id: transaction_id, amount, flw_ref } = findLatest(key)?.record ?? {}
    const latest = chargebacks.findLast(({ tx_ref }) => tx_ref === key)
    const isOpen = latest !== undefined && !ENDED.includes(latest.status)
    const about = { flw_ref: String(flw_ref), tx_ref: key, transaction_id: Number(transaction_id) }
    const chargeback = isOpen
      ? Object.assign(latest, { status })
      : { ...newChargeback(nextId(), now(), Number(amount)), ...about, status }
    if (!isOpen) chargebacks.push(chargeback)
    const { id, amount: claimed } = chargeback
    return buildWebhook(`chargeback.${status}`, { id, amount: claimed, status, flw_ref, tx_ref: undefined })
  }

  /** Ten on a page. */
  const listChargebacks = (query: URLSearchParams): FakeReply => {
    const reference = query.get('flw_ref')
    const page = Number(query.get('page') ?? 1)
    const data = chargebacks
      .filter(({ flw_ref }) => reference === null || flw_ref === reference)
      .slice((page - 1) * 10, page * 10)
    return { http: 200, body: { status: 'success', message: 'Chargebacks fetched', data } }
  }

  const route = async ({ method, path, query, headers, text }: FakeRequest): Promise<FakeReply> => {
    if (headers.authorization !== `Bearer ${SECRET_KEY}`) return errorReply('Invalid authorization key', 401)
    const [version, resource, id, verb] = path.split('/').slice(1)
    if (version !== 'v3') return errorReply('Cannot find that', 404)
    switch (`${method} ${resource}`) {
      case 'GET balances':
        return { http: 200, body: readFixture('balances') }
      case 'GET transactions': {
        const found = verb === 'verify' ? findById(id) : findLatest(query.get('tx_ref'))
        return found
          ? { http: 200, body: { ...readFixture('verify-card'), data: found.record } }
          : { http: 400, body: readFixture('verify-nothing') }
      }
      case 'GET refunds': {
        const isWanted = ({ txId }: Refund) => query.has('from') || String(txId) === query.get('id')
        const rows = refunds.filter(isWanted).map(({ txId, row }) => ({ ...row, tx_id: txId }))
        const one = refunds.find(({ row }) => String(row.id) === id)?.row
        if (id === undefined)
          return { http: 200, body: { status: 'success', message: 'Refunds', data: rows } }
        return one
          ? { http: 200, body: { status: 'success', message: 'Refund', data: one } }
          : errorReply('Refund not found', 404)
      }
      case 'GET chargebacks':
        return listChargebacks(query)
      case 'POST payments':
        return readBody(headers, text, FIELDS.payments, openPage)
      case 'POST charges': {
        const type = query.get('type')
        return readBody(headers, text, fieldsOf(type), (body) => chargeDirectly(type, body))
      }
      case 'POST tokenized-charges':
        return readBody(headers, text, FIELDS['tokenized-charges'], charge)
      case 'POST transactions':
        return readBody(headers, text, FIELDS.refund, (body) => createRefund(id, body))
      default:
        return errorReply('Cannot find that', 404)
    }
  }

  const finish = (key: string, ending: CheckoutEnding) => {
    const page = pages.get(key)
    if (!page) throw new Error(`there is no page for ${key}`)
    if (page.record?.status === 'pending') {
      Object.assign(
        page.record,
        { status: 'successful', processor_response: 'Approved' },
        toEnding(ending, page),
      )
      return
    }
    const template = readFixture('verify-card').data as Json
    const customer = { ...(template.customer as Json), email: page.email }
    // The same card again, with a new token.
    const card = { ...(template.card as Json), token: issueToken('approves', page.email) }
    const { amount, currency, meta } = page
    make(key, { amount, currency, meta, customer, card, ...toEnding(ending, page) })
  }

  return {
    server: await startFakeServer(t, route, { errorBody: () => readFixture('timeout') }),
    finish,
    advance: (ms) => {
      offsetMs += ms
    },
    executions: (key) =>
      transactions.filter(({ madeFor, record }) => madeFor === key && record.status === 'successful').length,
    savedCredential(behavior) {
      const email = 'amina.otieno@example.com'
      return JSON.stringify({ token: issueToken(behavior, email), email })
    },
    dispute: (key, status) => chargeBack(key, status === 'open' ? 'initiated' : status),
    chargeBack,
    refundInDashboard(attemptKey, minor) {
      const { id, currency } = findLatest(attemptKey)?.record ?? {}
      const amount = Number(minor) / 10 ** decimalsOf(isCurrency(currency) ? currency : 'NGN')
      createRefund(String(id), { amount, comments: 'Customer called' })
      // Its webhooks about refunds are not documented.
      return null
    },
    setRefundBehavior(behavior) {
      refundBehavior = behavior
    },
    refunds(attemptKey) {
      const record: Json = findLatest(attemptKey)?.record ?? {}
      const currency = isCurrency(record.currency) ? record.currency : 'NGN'
      return refunds
        .filter(({ txId, row }) => txId === record.id && row.status !== 'failed')
        .map(({ row }) => toMinor(row.amount_refunded, currency))
    },
    webhook: (key, event = 'charge.completed') =>
      buildWebhook(event, { tx_ref: key, id: findLatest(key)?.record.id ?? nextId() }),
  }
}

const ENDED = ['won', 'lost', 'accepted']

function newChargeback(id: number, nowMs: number, amount: number) {
  const created_at = new Date(nowMs).toISOString()
  return { id, amount, stage: 'new', due_date: created_at, settlement_id: 'N/A', created_at }
}

const REFUND_STATUSES: Readonly<Record<RefundBehavior, string>> = {
  succeeds: 'completed',
  waits: 'pending',
  fails: 'failed',
}

export function buildWebhook(event: string, data: Json): Webhook {
  const webhook = readFixture('webhook')
  const body = { ...webhook, event, data: { ...(webhook.data as Json), ...data } }
  return {
    headers: { 'content-type': 'application/json', 'verif-hash': WEBHOOK_HASH },
    body: Buffer.from(JSON.stringify(body)),
  }
}

function errorReply(message: string, http = 400): FakeReply {
  return { http, body: { status: 'error', message, data: null } }
}

function readBody(
  headers: Record<string, string>,
  text: string,
  fields: readonly string[],
  act: (body: Json) => FakeReply,
): FakeReply {
  if (headers['content-type'] !== 'application/json') return errorReply('not JSON')
  const body: Json = JSON.parse(text)
  const known = fields.flatMap((line) => line.split(' '))
  const odd = Object.keys(body).filter((name) => !known.includes(name))
  return odd.length > 0 ? errorReply(`${odd.join(', ')} is not allowed`) : act(body)
}

const OPTIONS = [
  'card account applepay googlepay banktransfer ussd internetbanking nqr enaira opay mpesa mobilemoneyghana',
  'ghanamobilemoney mobilemoneyuganda mobilemoneyrwanda mobilemoneytanzania mobilemoneyzambia mobilemoneymalawi',
  'mobilemoneyxaf mobilemoneyxof mobilemoneyfranco 1voucher fawrypay',
].flatMap((line) => line.split(' '))

function isKnownOption(list: unknown): boolean {
  return (
    list === undefined ||
    String(list)
      .split(', ')
      .every((option) => OPTIONS.includes(option))
  )
}

/** At most two decimals, and none if the currency has none. */
function isPayable(amount: number, currency: unknown): boolean {
  if (!isCurrency(currency) || amount <= 0) return false
  return new RegExp(decimalsOf(currency) === 0 ? '^\\d+$' : '^\\d+(\\.\\d{1,2})?$').test(String(amount))
}

/** 1.4 percent. */
function feeOf(amount: number, currency: unknown): number {
  const scale = 10 ** decimalsOf(isCurrency(currency) ? currency : 'NGN')
  return Math.round(amount * 0.014 * scale) / scale
}

/** Exact for amounts that isPayable accepts. */
function cents(amount: number): number {
  return Math.round(amount * 100)
}

function toMinor(amount: number, currency: Currency): bigint {
  return BigInt(Math.round(amount * 10 ** decimalsOf(currency)))
}

function toCharge(behavior: ChargeBehavior): Json {
  if (behavior === 'approves') return { processor_response: 'Approved', auth_model: 'noauth' }
  if (behavior === 'waits') return { status: 'pending', processor_response: 'Transaction in progress' }
  if (behavior === 'wants_customer') {
    const { status, meta } = readFixture('charge-challenged').data as Json
    return { status, meta, processor_response: 'Pending validation' }
  }
  return { status: 'failed', processor_response: behavior.declines }
}

function toEnding(ending: CheckoutEnding, page: Page): Json {
  switch (ending.kind) {
    case 'waits':
      return { status: 'pending', processor_response: 'Pending validation' }
    case 'declines':
      return ending.how === CANCELS
        ? { status: CANCELS, processor_response: '' }
        : { status: 'failed', processor_response: ending.how }
    case 'pays': {
      const currency = ending.currency ?? page.currency
      const decimals = isCurrency(currency) ? decimalsOf(currency) : 2
      const paid = ending.minor === undefined ? {} : { amount: Number(ending.minor) / 10 ** decimals }
      return { currency, ...paid, ...(ending.key !== undefined && { tx_ref: ending.key }) }
    }
  }
}
