// For tests: Paymob's intentions, transactions, refunds and saved cards. A reference of ours is taken once. Failed tries leave
// the intention open, and the inquiry returns the last transaction of an order.

import { randomBytes } from 'node:crypto'
import type { TestContext } from 'node:test'
import type { ChargeBehavior, CheckoutEnding, FakeProvider, RefundBehavior, Webhook } from '../conformance.ts'
import { type FakeReply, type FakeRequest, startFakeServer } from '../fake-server.ts'
import {
  type FakeOrder,
  type FakeTransaction,
  failedBecause,
  makeCardToken,
  makeTransaction,
  nextId,
  signCardToken,
  signTransaction,
} from './records.ts'

export const CREDENTIALS = {
  secretKey: 'egy_sk_test_9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08',
  publicKey: 'egy_pk_test_Wm9xY2hQdWJsaWNLZXk',
  apiKey: 'ZXlKaGJHY2lPaUpJVXpVeE1pSXNJblI1Y0NJNklrcFhWQ0o5LmZha2U=',
  hmacSecret: '0B5A1C2D3E4F60718293A4B5C6D7E8F9',
  cardIntegration: '4838801',
  walletIntegration: '4838802',
  kioskIntegration: '4838803',
  motoIntegration: '4838804',
}

export const TOKEN_PATH = /^\/api\/auth\/tokens$/

const INTEGRATIONS = [4_838_801, 4_838_802, 4_838_803, 4_838_804]
const MOTO = 4_838_804

/** The card that payers use on the page, and its token. */
export const CARD_TOKEN = 'e98aceb96f5a370ddf46460db9d555f88bf12448f80e1839b39f78ab'

export interface FakePaymob extends FakeProvider {
  orderOf(key: string): FakeOrder
  /** Paymob returns money that was not requested through the API. */
  refundInPaymob(key: string, cents: number): Webhook
  /** The pending refunds succeed. */
  endRefundsInPaymob(key: string): void
  voidInPaymob(key: string): Webhook
}

const error = (http: number, detail: string): FakeReply => ({ http, body: { detail } })
const ok = (body: unknown): FakeReply => ({ http: 200, body })

export async function startFakePaymob(t: TestContext): Promise<FakePaymob> {
  const orders: FakeOrder[] = []
  const tokens = new Set<string>()
  let refundBehavior: RefundBehavior = 'succeeds'

  const requireOrder = (key: string): FakeOrder => {
    const order = orders.find((one) => one.key === key)
    if (!order) throw new Error('no such order')
    return order
  }
  const findTransaction = (id: unknown) =>
    orders.flatMap(({ transactions }) => transactions).find((one) => String(one.id) === String(id))
  const paidOf = (order: FakeOrder) =>
    order.transactions.find(
      ({ success, is_refund: isRefund, is_void: isVoid }) => success && !isRefund && !isVoid,
    )

  const grant = ({ text }: FakeRequest): FakeReply => {
    if (JSON.parse(text).api_key !== CREDENTIALS.apiKey) return error(401, 'incorrect credentials')
    const token = `ZXlK${randomBytes(24).toString('hex')}`
    tokens.add(token)
    return { http: 201, body: { token, profile: { id: 246_628 } } }
  }

  const intend = ({ text, headers }: FakeRequest): FakeReply => {
    if (headers.authorization !== `Token ${CREDENTIALS.secretKey}`) return error(401, 'Invalid token.')
    const fields = JSON.parse(text)
    const problem = findProblem(fields)
    if (problem) return { http: 400, body: problem }
    if (fields.payment_methods.some((id: number) => !INTEGRATIONS.includes(id)))
      return error(404, 'Integration ID/Name does not exist in our system .')
    if (orders.some(({ key }) => key === fields.special_reference))
      return { http: 400, body: { special_reference: ['This reference already exists.'] } }
    const order: FakeOrder = {
      id: nextId(),
      key: fields.special_reference,
      amount: fields.amount,
      currency: fields.currency,
      clientSecret: `egy_csk_test_${randomBytes(16).toString('hex')}`,
      paymentKey: `ZXlKaGJHY2lPaUpJVXpVeE1pSX${randomBytes(300).toString('hex')}`,
      integration: fields.payment_methods[0],
      notificationUrl: fields.notification_url,
      transactions: [],
    }
    orders.push(order)
    return { http: 201, body: toIntention(order) }
  }

  const pay = ({ text }: FakeRequest): FakeReply => {
    const { source, payment_token: paymentKey } = JSON.parse(text)
    const order = orders.find((one) => one.paymentKey === paymentKey)
    if (!order || order.integration !== MOTO || source?.subtype !== 'TOKEN')
      return error(401, 'Invalid payment token')
    if (order.transactions.length > 0) return error(400, 'This order is already paid.')
    const transaction = makeTransaction(order, { is_3d_secure: false, ...endOf(source.identifier) })
    order.transactions.push(transaction)
    return ok(transaction)
  }

  const inquire = ({ text }: FakeRequest): FakeReply => {
    const { merchant_order_id: key, order_id: id } = JSON.parse(text)
    const last = orders
      .find((one) => (id === undefined ? one.key === key : one.id === id))
      ?.transactions.at(-1)
    return last ? ok(last) : error(404, 'Not found.')
  }

  const refund = ({ text, headers }: FakeRequest): FakeReply => {
    if (headers.authorization !== `Token ${CREDENTIALS.secretKey}`) return error(401, 'Invalid token.')
    const { transaction_id: id, amount_cents: cents } = JSON.parse(text)
    const parent = findTransaction(id)
    if (!parent || !Number.isInteger(id)) return error(404, 'Not found.')
    if (cents > parent.amount_cents - parent.refunded_amount_cents)
      return { http: 400, body: { message: 'Full amount has been refunded or the amount exceeds it.' } }
    return ok(addRefund(parent, cents, refundBehavior))
  }

  const addRefund = (parent: FakeTransaction, cents: number, behavior: RefundBehavior): FakeTransaction => {
    const order = orders.find(({ id }) => id === parent.order.id)
    if (!order) throw new Error('no such order')
    const child = makeTransaction(order, {
      amount_cents: cents,
      has_parent_transaction: true,
      parent_transaction: parent.id,
      is_refund: true,
      success: behavior === 'succeeds',
      pending: behavior === 'waits',
    })
    order.transactions.push(child)
    if (behavior === 'succeeds') parent.refunded_amount_cents += cents
    parent.is_refunded = parent.refunded_amount_cents > 0
    return child
  }

  const withToken = ({ headers }: FakeRequest, answer: () => FakeReply): FakeReply => {
    const [, token = ''] = /^Bearer (.+)$/.exec(headers.authorization ?? '') ?? []
    return tokens.has(token) ? answer() : error(401, 'Authentication credentials were not provided.')
  }

  const answer = (request: FakeRequest): FakeReply => {
    const { method, path } = request
    const [, , , third = '', last = ''] = path.split('/')
    switch (`${method} ${path.replace(/\d+$/, ':id').replace(/element\/.*/, 'element')}`) {
      case 'POST /api/auth/tokens':
        return grant(request)
      case 'POST /v1/intention/':
        return intend(request)
      case 'GET /v1/intention/element': {
        const [, , , , publicKey, secret] = path.split('/')
        const order = orders.find(({ clientSecret }) => clientSecret === secret)
        return order && publicKey === CREDENTIALS.publicKey
          ? ok(toRetrieved(order))
          : error(404, 'Not found.')
      }
      case 'POST /api/acceptance/payments/pay':
        return pay(request)
      case 'POST /api/ecommerce/orders/transaction_inquiry':
        return withToken(request, () => inquire(request))
      case 'GET /api/acceptance/transactions/:id':
        return withToken(request, () => {
          const transaction = findTransaction(last)
          return transaction ? ok(transaction) : error(404, 'Not found.')
        })
      case 'POST /api/acceptance/void_refund/refund':
        return refund(request)
      default:
        return error(404, `no such page: ${third}`)
    }
  }

  const server = await startFakeServer(t, async (request) => answer(request), {
    errorBody: (http) => ({ detail: `HTTP ${http}` }),
  })

  const sendTransaction = (order: FakeOrder, obj: FakeTransaction, type = 'TRANSACTION'): Webhook => ({
    headers: { 'content-type': 'application/json' },
    query: { hmac: signTransaction(CREDENTIALS.hmacSecret, obj) },
    body: Buffer.from(JSON.stringify({ type, obj })),
    url: order.notificationUrl,
  })

  return {
    server,
    orderOf: requireOrder,
    rejectTokens: () => tokens.clear(),
    finish(key, ending) {
      const order = requireOrder(key)
      order.transactions.push(makeTransaction(order, changesOf(order, ending)))
    },
    executions: (key) =>
      orders
        .filter((order) => order.key === key)
        .flatMap(({ transactions }) => transactions)
        .filter(({ success, is_refund: isRefund }) => success && !isRefund).length,
    webhook(key, event) {
      const order = requireOrder(key)
      const last = order.transactions.at(-1) ?? makeTransaction(order, { success: false, pending: true })
      return sendTransaction(order, last, event)
    },
    savedMethodWebhook(key) {
      const order = requireOrder(key)
      const obj = makeCardToken(order, CARD_TOKEN)
      return {
        headers: { 'content-type': 'application/json' },
        query: { hmac: signCardToken(CREDENTIALS.hmacSecret, obj) },
        body: Buffer.from(JSON.stringify({ type: 'TOKEN', obj })),
        url: order.notificationUrl,
      }
    },
    savedCredential: toCardToken,
    setRefundBehavior: (behavior) => {
      refundBehavior = behavior
    },
    refunds: (key) =>
      requireOrder(key)
        .transactions.filter(({ is_refund: isRefund, success }) => isRefund && success)
        .map(({ amount_cents: cents }) => BigInt(cents)),
    refundInPaymob(key, cents) {
      const order = requireOrder(key)
      const paid = paidOf(order)
      if (!paid) throw new Error('it was not paid')
      return sendTransaction(order, addRefund(paid, cents, 'succeeds'))
    },
    endRefundsInPaymob(key) {
      const order = requireOrder(key)
      const paid = paidOf(order)
      const pending = order.transactions.filter((one) => one.is_refund && one.pending)
      for (const refund of pending) {
        Object.assign(refund, { pending: false, success: true })
        if (paid) paid.refunded_amount_cents += refund.amount_cents
      }
    },
    voidInPaymob(key) {
      const order = requireOrder(key)
      const paid = paidOf(order)
      if (!paid) throw new Error('it was not paid')
      paid.is_voided = true
      const child = { has_parent_transaction: true, parent_transaction: paid.id, is_void: true }
      order.transactions.push(makeTransaction(order, child))
      return sendTransaction(order, { ...paid })
    },
  }
}

function toIntention(order: FakeOrder) {
  return {
    id: `pi_test_${order.id}`,
    object: 'paymentintention',
    status: 'intended',
    client_secret: order.clientSecret,
    intention_order_id: order.id,
    special_reference: order.key,
    payment_keys: [{ integration: order.integration, key: order.paymentKey, order_id: order.id }],
    intention_detail: { amount: order.amount, currency: order.currency },
  }
}

/** An intention that is read with its secret: which other fields it has is not documented. */
const toRetrieved = (order: FakeOrder) => ({ payment_keys: toIntention(order).payment_keys })

/** What Paymob says about a request that it does not accept; undefined if it does. */
function findProblem(fields: Record<string, unknown>): unknown {
  const { amount, currency, items, billing_data: billing, notification_url: url } = fields
  if (!Number.isInteger(amount) || Number(amount) <= 0) return { amount: ['A valid integer is required.'] }
  if (currency !== 'EGP') return { currency: ['This currency is not supported.'] }
  const sum = Array.isArray(items) ? items.reduce((total, one) => total + one.amount * one.quantity, 0) : 0
  if (sum !== amount) return { items: ['The sum of the items is not the amount.'] }
  const wanted = ['first_name', 'last_name', 'email', 'phone_number']
  const given = new Map(Object.entries(Object(billing)))
  const missing = wanted.find((name) => typeof given.get(name) !== 'string' || given.get(name) === '')
  if (missing) return { billing_data: { [missing]: ['This field is required.'] } }
  if (!/^\+[1-9][0-9]{6,14}$/.test(String(given.get('phone_number'))))
    return { billing_data: { phone_number: ['Enter a valid phone number.'] } }
  return /^https?:\/\//.test(String(url)) ? undefined : { notification_url: ['Enter a valid URL.'] }
}

function changesOf(order: FakeOrder, ending: CheckoutEnding): Partial<FakeTransaction> {
  if (ending.kind === 'waits') return { success: false, pending: true }
  if (ending.kind === 'declines') return failedBecause(ending.how)
  const { minor = BigInt(order.amount), currency = order.currency, key = order.key } = ending
  return { amount_cents: Number(minor), currency, order: { id: order.id, merchant_order_id: key } }
}

function toCardToken(behavior: ChargeBehavior): string {
  if (behavior === 'approves') return CARD_TOKEN
  return Buffer.from(JSON.stringify(behavior)).toString('hex')
}

/** How the charge of a card ends. */
function endOf(token: string): Partial<FakeTransaction> {
  if (token === CARD_TOKEN) return {}
  const behavior: ChargeBehavior = JSON.parse(Buffer.from(token, 'hex').toString())
  if (behavior === 'waits') return { success: false, pending: true }
  return failedBecause(typeof behavior === 'object' ? behavior.declines : '1A')
}
