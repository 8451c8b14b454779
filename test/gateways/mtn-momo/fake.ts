// For tests: MTN MoMo as its documentation describes it, for an API user in one country.

import { randomUUID } from 'node:crypto'
import type { TestContext } from 'node:test'
import { preapprovalIdOf } from '../../../src/gateways/mtn-momo/preapproval.ts'
import type { ChargeBehavior, CheckoutEnding, FakeProvider, RefundBehavior, Webhook } from '../conformance.ts'
import { type FakeReply, type FakeRequest, startFakeServer } from '../fake-server.ts'

export const CREDENTIALS = {
  targetEnvironment: 'mtnghana',
  subscriptionKey: '4f6b1d2a9c8e4b7fa1c3d5e7f9021436',
  apiUser: '7c1d1a52-6b7e-4f0c-9d3b-2a8e5f60b1c4',
  apiKey: 'b0431db58a9b41faa8f5860230d3c777',
  disbursementSubscriptionKey: '9e8d7c6b5a49382716f5e4d3c2b1a098',
}

export const TOKEN_PATH = /^\/(collection|disbursement)\/token\/$/

/** The host that the API user was made with. */
const CALLBACK_HOST = 'pay.example.com'
interface Market {
  environment: string
  currency: string
}

const GHANA: Market = { environment: 'mtnghana', currency: 'GHS' }
/** MTN's sandbox. */
export const SANDBOX_MARKET: Market = { environment: 'sandbox', currency: 'EUR' }

/** What payers pay in these tests: a pre-approval has no amount. */
const AMOUNT = '1250.50'

export interface Transaction {
  amount: string
  currency: string
  externalId: string
  status: string
  payer?: { partyIdType: string; partyId: string }
  payerMessage: string
  payeeNote: string
  financialTransactionId?: string
  reason?: unknown
}

interface Preapproval {
  payer: { partyIdType: string; partyId: string }
  payerCurrency: string
  payerMessage: string
  status: string
  expirationDateTime?: string
}

interface Refund extends Transaction {
  referenceIdToRefund: string
}

export interface FakeMomo extends FakeProvider {
  /** The next request to pay is answered with HTTP 500 and this code, although it was accepted or not. */
  failNext(code: string, isAccepted: boolean): void
  /** Requests for pre-approvals are answered like this from now on. */
  denyPreapprovals(reply: FakeReply): void
  /** Ends both. */
  clearDenials(): void
  /** Whether it has a request to pay, or a pre-approval, for this key. */
  knows(key: string): boolean
  isRequested(key: string): boolean
  /** How many pre-approvals are in force. */
  approved(): number
  /** The payer approves whatever the phone asks for this key. */
  approve(key: string): void
}

const reply = (http: number, code: string): FakeReply => ({
  http,
  body: { code, message: `${code} of +233241234567` },
})
const NOT_FOUND = reply(404, 'RESOURCE_NOT_FOUND')

const toText = (minor: bigint) => {
  const [whole, cents] = [minor / 100n, minor % 100n]
  return cents === 0n ? String(whole) : `${whole}.${String(cents).padStart(2, '0')}`
}
const toMinor = (text: string): bigint => {
  const [whole = '0', cents = ''] = text.split('.')
  return BigInt(whole) * 100n + BigInt(cents.padEnd(2, '0'))
}

const ERROR_CODES = new Map([
  [409, 'RESOURCE_ALREADY_EXIST'],
  [429, 'TOO_MANY_REQUESTS'],
  [500, 'INTERNAL_PROCESSING_ERROR'],
])
const errorBody = (http: number) => ({ code: ERROR_CODES.get(http) ?? 'ERROR', message: 'an error' })

export async function startFakeMomo(
  t: Pick<TestContext, 'after'>,
  market: Market = GHANA,
): Promise<FakeMomo> {
  const payments = new Map<string, Transaction>()
  const refunds = new Map<string, Refund>()
  const preapprovals = new Map<string, Preapproval>()
  // What happens to requests of payers with a pre-approval; by number.
  const behaviors = new Map<string, ChargeBehavior>()
  const callbackUrls = new Map<string, string>()
  const executed: string[] = []
  const denials: { code: string; isAccepted: boolean }[] = []
  let tokens = new Set<string>()
  let refundBehavior: RefundBehavior = 'succeeds'

  const grant = ({ headers, text }: FakeRequest, product: string): FakeReply => {
    const expected = Buffer.from(`${CREDENTIALS.apiUser}:${CREDENTIALS.apiKey}`).toString('base64')
    if (text !== '' || headers['content-length'] !== '0') return reply(400, 'BAD_REQUEST')
    if (headers.authorization !== `Basic ${expected}`) return { http: 401, body: { error: 'login_failed' } }
    const token = `${product}-${randomUUID()}`
    tokens.add(token)
    return { http: 200, body: { access_token: token, token_type: 'access_token', expires_in: 3_600 } }
  }

  /** A payer with a pre-approval is not prompted. */
  const debit = (id: string): void => {
    const payment = payments.get(id)
    const isApproved = [...preapprovals.values()].some(
      ({ status, payer }) => status === 'APPROVED' && payer.partyId === payment?.payer?.partyId,
    )
    const behavior = behaviors.get(payment?.payer?.partyId ?? '') ?? 'approves'
    if (!payment || !isApproved || behavior === 'waits') return
    if (typeof behavior === 'object')
      Object.assign(payment, endingFields(payment, { kind: 'declines', how: behavior.declines }))
    else pay(id, { kind: 'pays' })
  }

  const pay = (id: string, ending: CheckoutEnding): void => {
    const payment = requirePayment(id)
    executed.push(id)
    Object.assign(payment, endingFields(payment, ending))
  }

  const requirePayment = (key: string): Transaction => {
    const payment = payments.get(key)
    if (!payment) throw new Error('no such payment')
    return payment
  }

  let preapprovalDenial: FakeReply | undefined
  const preapprove = (body: Preapproval & { validityTime: unknown }, id: string): FakeReply => {
    const { validityTime, ...record } = body
    if (preapprovalDenial) return preapprovalDenial
    if (!Number.isInteger(validityTime)) return reply(400, 'BAD_REQUEST')
    if (preapprovals.has(id)) return reply(409, 'RESOURCE_ALREADY_EXIST')
    preapprovals.set(id, { ...record, status: 'PENDING' })
    return { http: 202 }
  }

  const requestToPay = (body: Transaction, id: string): FakeReply => {
    const denial = denials.shift()
    if (denial && !denial.isAccepted) return reply(500, denial.code)
    const { currency } = body
    if (currency !== market.currency) return reply(500, 'INVALID_CURRENCY')
    if (payments.has(id)) return reply(409, 'RESOURCE_ALREADY_EXIST')
    payments.set(id, { ...body, status: 'PENDING' })
    debit(id)
    return denial ? reply(500, denial.code) : { http: 202 }
  }

  const refund = (body: Refund, id: string): FakeReply => {
    if (refunds.has(id)) return reply(409, 'RESOURCE_ALREADY_EXIST')
    const paid = payments.get(body.referenceIdToRefund)
    if (paid?.status !== 'SUCCESSFUL') return reply(400, 'BAD_REQUEST')
    const status = { succeeds: 'SUCCESSFUL', waits: 'PENDING', fails: 'FAILED' }[refundBehavior]
    const reason = status === 'FAILED' ? { reason: 'NOT_ENOUGH_FUNDS' } : {}
    refunds.set(id, { ...body, status, ...reason })
    return { http: 202 }
  }

  const submit = ({ path, headers, text }: FakeRequest): FakeReply => {
    const id = headers['x-reference-id'] ?? ''
    const url = headers['x-callback-url']
    if (!UUID_V4.test(id) || /'/.test(text)) return reply(400, 'BAD_REQUEST')
    if (url !== undefined && !isRegistered(url)) return reply(500, 'INVALID_CALLBACK_URL_HOST')
    if (url !== undefined) callbackUrls.set(id, url)
    const body = JSON.parse(text)
    if (path === '/collection/v1_0/requesttopay') return requestToPay(body, id)
    if (path === '/collection/v2_0/preapproval') return preapprove(body, id)
    return path === '/disbursement/v1_0/refund' ? refund(body, id) : NOT_FOUND
  }

  const find = (path: string): FakeReply => {
    if (/^\/(collection|disbursement)\/v1_0\/account\/balance$/.test(path))
      return { http: 200, body: { availableBalance: '1000', currency: market.currency } }
    const [, number] = /^\/collection\/v1_0\/preapprovals\/MSISDN\/(\d+)$/.exec(path) ?? []
    if (number !== undefined)
      return { http: 200, body: [...preapprovals.values()].filter(({ payer }) => payer.partyId === number) }
    const payment = payments.get(path.replace('/collection/v1_0/requesttopay/', ''))
    const preapproval = preapprovals.get(path.replace('/collection/v2_0/preapproval/', ''))
    const found = payment ?? preapproval ?? refunds.get(path.replace('/disbursement/v1_0/refund/', ''))
    return found ? { http: 200, body: found } : NOT_FOUND
  }

  const remove = (path: string): FakeReply => {
    const preapproval = preapprovals.get(path.replace('/collection/v1_0/preapproval/', ''))
    if (!preapproval) return NOT_FOUND
    preapproval.status = 'CANCELLED'
    return { http: 200 }
  }

  const answer = (request: FakeRequest): FakeReply => {
    const { method, path, headers } = request
    const [, product = ''] = path.split('/')
    const key =
      product === 'disbursement' ? CREDENTIALS.disbursementSubscriptionKey : CREDENTIALS.subscriptionKey
    if (headers['ocp-apim-subscription-key'] !== key)
      return {
        http: 401,
        body: { statusCode: 401, message: 'Access denied due to invalid subscription key.' },
      }
    if (TOKEN_PATH.test(path)) return grant(request, product)
    const token = headers.authorization?.replace('Bearer ', '') ?? ''
    if (!tokens.has(token) || !token.startsWith(product)) return { http: 401 }
    if (headers['x-target-environment'] !== market.environment)
      return reply(500, 'NOT_ALLOWED_TARGET_ENVIRONMENT')
    if (method === 'DELETE') return remove(path)
    return method === 'POST' ? submit(request) : find(path)
  }

  const server = await startFakeServer(t, async (request) => answer(request), { errorBody })

  return {
    server,
    failNext: (code, isAccepted) => denials.push({ code, isAccepted }),
    denyPreapprovals: (answer) => {
      preapprovalDenial = answer
    },
    clearDenials: () => {
      preapprovalDenial = undefined
      denials.splice(0)
    },
    knows: (key) => payments.has(key) || preapprovals.has(preapprovalIdOf(key)),
    isRequested: (key) => payments.has(key),
    approved: () => [...preapprovals.values()].filter(({ status }) => status === 'APPROVED').length,
    approve(key) {
      if (payments.get(key)?.status === 'PENDING') pay(key, { kind: 'pays' })
      const preapproval = preapprovals.get(preapprovalIdOf(key))
      if (preapproval) preapproval.status = 'APPROVED'
    },
    rejectTokens: () => {
      tokens = new Set()
    },
    /** Before the request to pay the payer is asked for the pre-approval. */
    finish(key, ending) {
      const preapproval = preapprovals.get(preapprovalIdOf(key))
      if (preapproval && !payments.has(key)) {
        if (ending.kind === 'declines') preapproval.status = ending.how
        if (ending.kind !== 'pays') return
        preapproval.status = 'APPROVED'
        const { payer, payerMessage } = preapproval
        payments.set(key, {
          amount: AMOUNT,
          currency: market.currency,
          externalId: key,
          status: 'PENDING',
          payer,
          payerMessage,
          payeeNote: '',
        })
      }
      if (ending.kind === 'pays') return pay(key, ending)
      const payment = requirePayment(key)
      Object.assign(payment, endingFields(payment, ending))
    },
    confirm(key) {
      const preapproval = preapprovals.get(preapprovalIdOf(key))
      if (!preapproval) throw new Error('no such pre-approval')
      preapproval.status = 'APPROVED'
    },
    savedCredential(behavior) {
      const phone = `+2332400${String(behaviors.size + 10_000)}`
      const partyId = phone.slice(1)
      behaviors.set(partyId, behavior)
      const id = randomUUID()
      const status = behavior === 'wants_customer' ? 'CANCELLED' : 'APPROVED'
      const payer = { partyIdType: 'MSISDN', partyId }
      preapprovals.set(id, { payer, payerCurrency: market.currency, payerMessage: '', status })
      return JSON.stringify({ preapproval: id, phone, currency: market.currency })
    },
    executions: (key) => executed.filter((one) => one === key).length,
    webhook(key, event): Webhook {
      const url = callbackUrls.get(key) ?? callbackUrls.get(preapprovalIdOf(key))
      const record = payments.get(key) ?? preapprovals.get(preapprovalIdOf(key))
      if (url === undefined || !record) throw new Error('a callback goes to the address of its request')
      const body = Buffer.from(JSON.stringify(event === undefined ? record : { event }))
      return { method: 'PUT', headers: { 'content-type': 'application/json' }, url, body }
    },
    setRefundBehavior: (behavior) => {
      refundBehavior = behavior
    },
    refunds: (attemptKey) =>
      [...refunds.values()]
        .filter((one) => one.referenceIdToRefund === attemptKey && one.status === 'SUCCESSFUL')
        .map(({ amount }) => toMinor(amount)),
  }
}

const UUID_V4 = /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/

function isRegistered(url: string): boolean {
  const { protocol, host, search } = new URL(url)
  return protocol === 'https:' && host === CALLBACK_HOST && search === ''
}

/** The reason is a text in some responses, and an object in others. */
function endingFields(payment: Transaction, ending: CheckoutEnding): Partial<Transaction> {
  switch (ending.kind) {
    case 'waits':
      return { status: 'PENDING' }
    case 'declines': {
      const { how } = ending
      const reason = how.length % 2 === 0 ? how : { code: how, message: `${how} of +233241234567` }
      return { status: 'FAILED', reason }
    }
    case 'pays': {
      const { currency = payment.currency, key: externalId = payment.externalId } = ending
      const amount = ending.minor === undefined ? payment.amount : toText(ending.minor)
      return { status: 'SUCCESSFUL', financialTransactionId: '2119842301', amount, currency, externalId }
    }
  }
}
