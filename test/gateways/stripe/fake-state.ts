// The state of the fake Stripe, and how it is created and read. Objects start as copies of fixtures/ and get the
// requested values.

import { createHash, randomUUID } from 'node:crypto'
import { readFileSync } from 'node:fs'
import type { Clock } from '../../../src/kit/clock.ts'
import type { ChargeBehavior, CheckoutEnding, RefundBehavior } from '../conformance.ts'
import type { FakeReply, FakeRequest } from '../fake-server.ts'
import { errorReply, type Fields, methodError, moneyError } from './fake-forms.ts'

// Any object of Stripe: the fake only reads fields that it has written itself.
// biome-ignore lint/suspicious/noExplicitAny: the shapes are the provider's, and the fixtures hold them
export type Stripe = any

/** A recorded response of the provider. */
export function readFixture(name: string): Stripe {
  return JSON.parse(readFileSync(new URL(`./fixtures/${name}.json`, import.meta.url), 'utf8'))
}

export interface FakeState {
  clock: Clock
  sessions: Map<string, Stripe>
  intents: Map<string, Stripe>
  /** The future payment of each session. */
  drafts: Map<string, Stripe>
  methods: Map<string, Stripe>
  behaviors: Map<string, ChargeBehavior>
  refunds: Map<string, Stripe>
  refundBehavior: RefundBehavior
  customers: Set<string>
  /** What the payers on Stripe's page pay with from now on; a card when absent. */
  pageMethod: Stripe | undefined
  /** Newest first, as Stripe lists them. */
  disputes: Stripe[]
}

export function createFakeState(clock: Clock): FakeState {
  return {
    clock,
    sessions: new Map(),
    intents: new Map(),
    drafts: new Map(),
    methods: new Map(),
    behaviors: new Map(),
    refunds: new Map(),
    refundBehavior: 'succeeds',
    customers: new Set(),
    pageMethod: undefined,
    disputes: [],
  }
}

export function makeSession(state: FakeState, fields: Fields): FakeReply {
  const get = (name: string) => fields.get(name) ?? ''
  const currency = get('line_items[0][price_data][currency]')
  const amount = get('line_items[0][price_data][unit_amount]')
  const created = seconds(state)
  const expiresAt = Number(fields.get('expires_at') ?? created + 86_400)
  if (expiresAt < created + 1_800 || expiresAt >= created + 86_401)
    return errorReply(
      undefined,
      'expires_at',
      'The `expires_at` timestamp must be 30 minutes to 24 hours away.',
    )
  const error =
    moneyError(currency, amount, 'line_items[0][price_data][unit_amount]') ??
    methodError(fields, currency, state.customers)
  if (error) return error
  const id = newId('cs_test')
  const session = {
    ...readFixture('checkout-session'),
    id,
    url: `https://checkout.stripe.com/c/pay/${id}#fid`,
    amount_subtotal: Number(amount),
    amount_total: Number(amount),
    currency,
    client_reference_id: fields.get('client_reference_id') ?? null,
    customer: fields.get('customer') ?? null,
    customer_email: fields.get('customer_email') ?? null,
    success_url: get('success_url'),
    cancel_url: fields.get('cancel_url') ?? null,
    metadata: metadataOf(fields, 'metadata'),
    created,
    expires_at: expiresAt,
  }
  state.sessions.set(id, session)
  state.drafts.set(id, {
    metadata: metadataOf(fields, 'payment_intent_data[metadata]'),
    setup_future_usage: fields.get('payment_intent_data[setup_future_usage]') ?? null,
    payment_method_types: [fields.get('payment_method_types[0]') ?? 'card'],
  })
  return { http: 200, body: session }
}

export function makeCustomer(state: FakeState, fields: Fields): FakeReply {
  const id = newId('cus')
  state.customers.add(id)
  const body = {
    id,
    object: 'customer',
    created: seconds(state),
    livemode: false,
    email: fields.get('email') ?? null,
    name: fields.get('name') ?? null,
  }
  return { http: 200, body: { ...body, metadata: metadataOf(fields, 'metadata') } }
}

export function expireByTime(state: FakeState, session: Stripe): void {
  if (session.status === 'open' && session.expires_at <= seconds(state))
    Object.assign(session, { status: 'expired', url: null })
}

export function expireSession(state: FakeState, id: string): FakeReply {
  const session = state.sessions.get(id)
  if (!session) return missing('session')
  if (session.status !== 'open') return errorReply(undefined, 'session', 'Only open sessions can be expired.')
  Object.assign(session, { status: 'expired', url: null })
  return { http: 200, body: session }
}

// Decline codes that are also the error's code; the others come with card_declined.
const SAME_AS_ERROR_CODE = [
  'expired_card',
  'incorrect_cvc',
  'incorrect_number',
  'processing_error',
  'authentication_required',
]

export function makeIntent(state: FakeState, fields: Fields): FakeReply {
  const get = (name: string) => fields.get(name) ?? ''
  const error = moneyError(get('currency'), get('amount'), 'amount')
  if (error) return error
  const method = state.methods.get(get('payment_method'))
  if (!method) return missing('payment_method', 400)
  if (method.customer !== get('customer')) return missing('customer', 400)
  if (get('off_session') !== 'true' || get('confirm') !== 'true')
    return errorReply(undefined, 'confirm', 'The tests only charge without the payer.')
  if (get('automatic_payment_methods[allow_redirects]') !== 'never')
    return errorReply(undefined, 'return_url', 'You must provide a `return_url`.')
  const intent = {
    ...readFixture('payment-intent'),
    id: newId('pi'),
    latest_charge: newId('ch'),
    amount: Number(get('amount')),
    amount_received: 0,
    currency: get('currency'),
    customer: method.customer,
    payment_method: method.id,
    description: fields.get('description') ?? null,
    metadata: metadataOf(fields, 'metadata'),
    created: seconds(state),
    status: 'processing',
  }
  state.intents.set(intent.id, intent)
  return endCharge(intent, state.behaviors.get(method.id) ?? 'approves')
}

function endCharge(intent: Stripe, behavior: ChargeBehavior): FakeReply {
  if (behavior === 'waits') return { http: 200, body: intent }
  if (behavior === 'approves') {
    Object.assign(intent, { status: 'succeeded', amount_received: intent.amount })
    return { http: 200, body: intent }
  }
  const declineCode = behavior === 'wants_customer' ? 'authentication_required' : behavior.declines
  const error = toCardError(declineCode)
  Object.assign(intent, {
    status: 'requires_payment_method',
    payment_method: null,
    last_payment_error: error,
  })
  return { http: 402, body: { error: { ...error, payment_intent: intent } } }
}

function toCardError(declineCode: string): Stripe {
  const { payment_intent: _intent, ...error } = readFixture('error-card-declined').error
  const code = SAME_AS_ERROR_CODE.includes(declineCode) ? declineCode : 'card_declined'
  return { ...error, code, decline_code: declineCode, message: `Your card was declined: 4000000000000002.` }
}

export function makeRefund(state: FakeState, fields: Fields): FakeReply {
  const intent = state.intents.get(fields.get('payment_intent') ?? '')
  if (!intent) return missing('payment_intent')
  const given = [...state.refunds.values()].filter(
    ({ payment_intent, status }) => payment_intent === intent.id && status !== 'failed',
  )
  const left = given.reduce((rest, { amount }) => rest - amount, intent.amount_received)
  const amount = Number(fields.get('amount') ?? left)
  if (left === 0)
    return errorReply('charge_already_refunded', 'charge', 'The charge has already been refunded.')
  if (amount > left) return errorReply(undefined, 'amount', 'Refund amount is greater than what is left.')
  const endings = {
    succeeds: { status: 'succeeded' },
    waits: { status: 'pending' },
    fails: { status: 'failed', failure_reason: 'expired_or_canceled_card' },
  }
  const refund = {
    ...readFixture('refund'),
    id: newId('re'),
    amount,
    currency: intent.currency,
    created: Math.floor(state.clock.now().getTime() / 1_000),
    payment_intent: intent.id,
    metadata: metadataOf(fields, 'metadata'),
    ...endings[state.refundBehavior],
  }
  state.refunds.set(refund.id, refund)
  return { http: 200, body: refund }
}

const DISPUTE_STATUSES = { open: 'needs_response', won: 'won', lost: 'lost' }

/** The payer's bank opens a dispute about the whole intent, or decides it; after one that ended, another. */
export function setDispute(state: FakeState, intent: Stripe, status: keyof typeof DISPUTE_STATUSES): Stripe {
  const { id: payment_intent, amount_received: amount, currency } = intent
  const isOpen = (one: Stripe) => one.status === DISPUTE_STATUSES.open
  const known = state.disputes.find((one) => one.payment_intent === payment_intent && isOpen(one))
  const dispute = known ?? {
    id: newId('du'),
    object: 'dispute',
    amount,
    currency,
    charge: intent.latest_charge,
    payment_intent,
    metadata: {},
  }
  dispute.status = DISPUTE_STATUSES[status]
  if (!known) state.disputes.unshift(dispute)
  return dispute
}

function listDisputes(state: FakeState, query: URLSearchParams): FakeReply {
  const data = state.disputes.filter((one) => one.payment_intent === query.get('payment_intent'))
  return { http: 200, body: { object: 'list', url: '/v1/disputes', has_more: false, data } }
}

function listRefunds(state: FakeState, query: URLSearchParams): FakeReply {
  const [intent, from] = [query.get('payment_intent'), Number(query.get('created[gte]') ?? 0)]
  const found = [...state.refunds.values()]
    .toReversed()
    .filter((one) => (intent === null || one.payment_intent === intent) && one.created >= from)
  const start = found.findIndex((one) => one.id === query.get('starting_after')) + 1
  const data = found.slice(start, start + Number(query.get('limit') ?? 10))
  const has_more = start + data.length < found.length
  return { http: 200, body: { object: 'list', url: '/v1/refunds', has_more, data } }
}

export function readObject(state: FakeState, { path, query }: FakeRequest): FakeReply {
  if (path === '/v1/refunds') return listRefunds(state, query)
  if (path === '/v1/disputes') return listDisputes(state, query)
  if (path === '/v1/balance') return { http: 200, body: readFixture('balance') }
  const [, kind, id = ''] =
    /^\/v1\/(checkout\/sessions|payment_intents|charges|refunds)\/([^/]+)$/.exec(path) ?? []
  const expanded = query.getAll('expand[]')
  switch (kind) {
    case 'checkout/sessions': {
      const session = state.sessions.get(id)
      return session ? { http: 200, body: expandSession(state, session, expanded) } : missing('session')
    }
    case 'payment_intents': {
      const intent = state.intents.get(id)
      return intent ? { http: 200, body: intent } : missing('intent')
    }
    case 'charges': {
      const intent = [...state.intents.values()].find(({ latest_charge }) => latest_charge === id)
      if (!intent) return missing('charge')
      const { id: payment_intent, metadata } = intent
      return { http: 200, body: { id, object: 'charge', payment_intent, metadata } }
    }
    case 'refunds': {
      const refund = state.refunds.get(id)
      return refund ? { http: 200, body: refund } : missing('refund')
    }
    default:
      return errorReply(undefined, 'url', `Unrecognized request URL (GET: ${path}).`, 404)
  }
}

function expandSession(state: FakeState, session: Stripe, expanded: readonly string[]): Stripe {
  const intent = state.intents.get(session.payment_intent)
  if (!intent || !expanded.includes('payment_intent.payment_method')) return session
  const method = state.methods.get(intent.payment_method) ?? null
  return { ...session, payment_intent: { ...intent, payment_method: method } }
}

/** The payer on Stripe's page. A declined card leaves the page open, so a decline here is final. */
export function finish(state: FakeState, key: string, ending: CheckoutEnding): void {
  const session = [...state.sessions.values()].find((one) => one.client_reference_id === key)
  if (!session) throw new Error(`there is no session for ${key}`)
  if (session.status !== 'open') return
  if (ending.kind === 'declines' && ending.how === 'expired') {
    expireSession(state, session.id)
    return
  }
  const draft = state.drafts.get(session.id)
  const isTransfer = draft.payment_method_types[0] === 'customer_balance'
  const method = makeMethod(
    state,
    session.customer ?? newId('cus'),
    'approves',
    session.customer_email ?? undefined,
  )
  const other = isTransfer ? { type: 'customer_balance', customer_balance: {} } : state.pageMethod
  if (other) Object.assign(method, { card: undefined, ...other })
  const intent = {
    ...readFixture('payment-intent'),
    ...draft,
    id: newId('pi'),
    latest_charge: newId('ch'),
    created: seconds(state),
    customer: method.customer,
    payment_method: method.id,
    // The payer has seen the account to pay into.
    status: isTransfer ? 'requires_action' : 'processing',
    amount_received: 0,
  }
  state.intents.set(intent.id, intent)
  Object.assign(session, {
    status: 'complete',
    url: null,
    payment_intent: intent.id,
    customer: method.customer,
  })
  if (ending.kind === 'pays') pay(session, intent, ending)
  if (ending.kind === 'declines') {
    const error = toCardError(ending.how)
    Object.assign(intent, { status: 'requires_payment_method', last_payment_error: error })
  }
}

function pay(
  session: Stripe,
  intent: Stripe,
  { minor, currency, key }: CheckoutEnding & { kind: 'pays' },
): void {
  const requested = BigInt(session.amount_total) / scaleOf(session.currency)
  const paidCurrency = currency?.toLowerCase() ?? session.currency
  const amount = Number((minor ?? requested) * scaleOf(paidCurrency))
  Object.assign(session, { payment_status: 'paid', amount_total: amount, currency: paidCurrency })
  Object.assign(session, { client_reference_id: key ?? session.client_reference_id })
  Object.assign(intent, { status: 'succeeded', amount, amount_received: amount, currency: paidCurrency })
}

export function makeMethod(
  state: FakeState,
  customer: string,
  behavior: ChargeBehavior,
  email = 'payer@example.com',
): Stripe {
  const template = readFixture('payment-method')
  const fingerprint = createHash('sha256').update(email).digest('base64url').slice(0, 16)
  const method = { ...template, id: newId('pm'), customer, card: { ...template.card, fingerprint } }
  state.methods.set(method.id, method)
  state.behaviors.set(method.id, behavior)
  return method
}

function metadataOf(fields: Fields, prefix: string): Record<string, string> {
  const entries = [...fields].filter(([name]) => name.startsWith(`${prefix}[`))
  return Object.fromEntries(entries.map(([name, value]) => [name.slice(prefix.length + 1, -1), value]))
}

function missing(param: string, http = 404): FakeReply {
  return errorReply('resource_missing', param, `No such ${param}.`, http)
}

export function seconds({ clock }: FakeState): number {
  return Math.floor(clock.now().getTime() / 1_000)
}

export const scaleOf = (currency: string) => (currency === 'ugx' ? 100n : 1n)

export function newId(prefix: string): string {
  return `${prefix}_${randomUUID().replaceAll('-', '')}`
}
