// For tests: Safaricom Daraja as its documentation and its users describe it. A prompt has no key: each request prompts the
// payer again. Callbacks are not signed, refunds end by callback only, and the list of payments goes back 48 hours.

import type { TestContext } from 'node:test'
import { systemClock } from '../../../src/kit/clock.ts'
import type { FakeProvider, RefundBehavior, Webhook } from '../conformance.ts'
import { type FakeReply, type FakeRequest, startFakeServer } from '../fake-server.ts'
import {
  callbackOf,
  digits,
  errorReply,
  listedPayment,
  type Prompt,
  type Refund,
  reply,
  resultOf,
  statusOf,
  statusResultOf,
} from './fake-records.ts'
import { grantTokens } from './fake-tokens.ts'

export { CREDENTIALS, OTHER_CREDENTIALS, PAYOUT_CREDENTIALS, SHORTCODE } from './fake-tokens.ts'

export interface FakeDaraja extends FakeProvider {
  /** All prompts under one key, oldest first. */
  prompts(key: string): readonly Prompt[]
  refundsOf(key: string): readonly Refund[]
  /** The result of the last status query about a payout, to the address that came with it. */
  statusWebhook(refundKey: string): Webhook | null
  rejectTokens(): void
  refundWebhook(refundKey: string): Webhook | null
  setRefundBehavior(behavior: RefundBehavior): void
}

export const DECLINES: Readonly<Record<string, string>> = {
  '1': 'The balance is insufficient for the transaction.',
  '1001': 'Unable to lock subscriber, a transaction is already in process for the current subscriber',
  '1019': 'Transaction has expired',
  '1025': 'An error occurred while sending a push request',
  '1032': 'Request Cancelled by user.',
  '1037': 'DS timeout user cannot be reached.',
  '17': 'Internal failure.',
  '2001': 'The initiator information is invalid.',
  '26': 'System internal error.',
  '9999': 'Request failed.',
}

export async function startFakeDaraja(t: Pick<TestContext, 'after'>): Promise<FakeDaraja> {
  const prompts: Prompt[] = []
  const refunds: Refund[] = []
  const statusUrls = new Map<string, string>()
  const tokens = grantTokens()
  let refundBehavior: RefundBehavior = 'succeeds'

  const push = (body: Record<string, unknown>): FakeReply => {
    const issue = issueOfPush(body)
    if (issue) return errorReply(400, '400.002.02', `Bad Request - ${issue}`)
    const url = String(body.CallBackURL)
    const prompt: Prompt = {
      id: `ws_CO_${digits(systemClock.now())}${prompts.length}2547`,
      merchantRequest: `29115-34620561-${prompts.length + 1}`,
      key: keyIn(url, 'attempt'),
      url,
      amount: BigInt(String(body.Amount)) * 100n,
      phone: String(body.PhoneNumber),
      account: String(body.AccountReference),
      state: 'open',
      text: '',
      receipt: null,
      at: systemClock.now(),
    }
    prompts.push(prompt)
    return reply({
      MerchantRequestID: prompt.merchantRequest,
      CheckoutRequestID: prompt.id,
      ResponseCode: '0',
      ResponseDescription: 'Success. Request accepted for processing',
      CustomerMessage: 'Success. Request accepted for processing',
    })
  }

  const status = ({ CheckoutRequestID: id }: Record<string, unknown>): FakeReply => {
    const prompt = prompts.find((one) => one.id === id)
    return prompt ? statusOf(prompt) : errorReply(500, '500.001.1001', 'The transaction does not exist')
  }

  const list = (body: Record<string, unknown>): FakeReply => {
    const from = new Date(`${String(body.StartDate).replace(' ', 'T')}+03:00`)
    const to = new Date(`${String(body.EndDate).replace(' ', 'T')}+03:00`)
    if (typeof body.OffSetValue !== 'number')
      return errorReply(400, '400.002.02', 'Bad Request - OffSetValue')
    const rows = prompts.filter(({ receipt, at }) => receipt !== null && at >= from && at <= seconds(to))
    const page = rows.slice(body.OffSetValue, body.OffSetValue + PAGE).map(listedPayment)
    const head = { ResponseRefID: '26178-42530161-2', ResponseMessage: 'Success' }
    if (page.length === 0) return reply({ ...head, ResponseCode: '1001', Response: '[[]]' })
    return reply({ ...head, ResponseCode: '1000', Response: [page] })
  }

  const refund = (body: Record<string, unknown>, original: (prompt: Prompt) => boolean): FakeReply => {
    const url = String(body.ResultURL)
    const originator = String(body.OriginatorConversationID ?? `refund-${refunds.length}`)
    if (refunds.some((one) => one.originator === originator))
      return errorReply(500, '500.002.1001', 'Duplicate OriginatorConversationID.')
    const prompt = prompts.findLast(original)
    const made: Refund = {
      key: keyIn(url, 'refund'),
      attemptKey: prompt?.key ?? '',
      url,
      originator,
      conversation: `AG_20261117_${String(refunds.length).padStart(20, '0')}`,
      transaction: `SRV${String(refunds.length).padStart(7, '0')}`,
      amount: BigInt(String(body.Amount)) * 100n,
      behavior: prompt ? refundBehavior : 'fails',
    }
    refunds.push(made)
    return accepted(made.originator, made.conversation)
  }

  const routes: Record<string, (body: Record<string, unknown>) => FakeReply> = {
    '/mpesa/stkpush/v1/processrequest': push,
    '/mpesa/stkpushquery/v1/query': status,
    '/pulltransactions/v1/query': list,
    '/pulltransactions/v1/register': () =>
      reply({ ResponseRefID: '1-1-1', 'Response Status': '1001', ResponseDescription: 'already registered' }),
    '/mpesa/reversal/v1/request': (body) => refund(body, ({ receipt }) => receipt === body.TransactionID),
    '/mpesa/b2c/v3/paymentrequest': (body) => refund(body, ({ phone }) => phone === body.PartyB),
    '/mpesa/transactionstatus/v1/query': (body) => {
      statusUrls.set(String(body.OriginatorConversationID), String(body.ResultURL))
      return accepted('status-query', 'AG_20261117_status')
    },
  }

  const server = await startFakeServer(
    t,
    async (request: FakeRequest): Promise<FakeReply> => {
      const refusal = tokens.handle(request)
      if (refusal) return refusal
      const route = request.method === 'POST' ? routes[request.path] : undefined
      return route ? route(JSON.parse(request.text)) : errorReply(404, '404.001.01', 'Resource not found')
    },
    { errorBody: (http) => ({ requestId: '1-1-1', errorCode: `${http}.000.00`, errorMessage: 'Error' }) },
  )

  const lastOf = (key: string): Prompt => {
    const prompt = prompts.findLast((one) => one.key === key)
    if (!prompt) throw new Error('no such payment')
    return prompt
  }
  const post = (url: string, body: unknown): Webhook => ({
    headers: { 'content-type': 'application/json' },
    url,
    body: Buffer.from(JSON.stringify(body)),
  })

  return {
    server,
    prompts: (key) => prompts.filter((one) => one.key === key),
    refundsOf: (key) => refunds.filter((one) => one.key === key),
    rejectTokens: tokens.rejectAll,
    finish(key, ending) {
      const prompt = lastOf(key)
      if (ending.kind === 'waits') prompt.state = 'processing'
      if (ending.kind === 'declines')
        Object.assign(prompt, { state: ending.how, text: DECLINES[ending.how] ?? 'Something new.' })
      if (ending.kind !== 'pays') return
      const receipt = `SK${String(prompts.indexOf(prompt)).padStart(8, '0')}`
      const amount = ending.minor ?? prompt.amount
      Object.assign(prompt, { state: '0', text: 'The service request is processed successfully.' })
      Object.assign(prompt, { receipt, amount, at: systemClock.now() })
    },
    executions: (key) => prompts.filter((one) => one.key === key && one.receipt !== null).length,
    webhook(key, event) {
      const prompt = lastOf(key)
      return post(prompt.url, event === undefined ? callbackOf(prompt) : { event })
    },
    setRefundBehavior(behavior) {
      refundBehavior = behavior
    },
    refunds: (attemptKey) =>
      refunds
        .filter((one) => one.attemptKey === attemptKey && one.behavior === 'succeeds')
        .map(({ amount }) => amount),
    refundWebhook(key) {
      const made = refunds.find((one) => one.key === key)
      return made && made.behavior !== 'waits' ? post(made.url, resultOf(made)) : null
    },
    statusWebhook(key) {
      const url = statusUrls.get(key)
      const made = refunds.find((one) => one.originator === key)
      return url === undefined ? null : post(url, statusResultOf(key, made))
    },
  }
}

const PAGE = 40

const accepted = (OriginatorConversationID: string, ConversationID: string): FakeReply =>
  reply({
    OriginatorConversationID,
    ConversationID,
    ResponseCode: '0',
    ResponseDescription: 'Accept the service request successfully.',
  })

/** The list has whole seconds. */
const seconds = (time: Date) => new Date(time.getTime() + 999)

const keyIn = (url: string, kind: string) => new RegExp(`/${kind}-([0-9a-f-]{36})/`).exec(url)?.[1] ?? ''

// The service of a test has no TLS.
const PUBLIC_ADDRESS = /^(?:https:|http:\/\/(?:127\.0\.0\.1|localhost)[:/])/
const REFUSED_WORDS = /mpesa|safaricom|exec?|cmd|sql|query/i

/** What Daraja checks when it gets the request. */
function issueOfPush(body: Record<string, unknown>): string | undefined {
  const { Amount, PhoneNumber, PartyA, PartyB, CallBackURL, AccountReference, TransactionDesc } = body
  if (typeof Amount !== 'number' || !Number.isInteger(Amount) || Amount < 1 || Amount > 250_000)
    return 'Invalid Amount'
  if (!/^254[17]\d{8}$/.test(String(PhoneNumber)) || typeof PhoneNumber !== 'number')
    return 'Invalid PhoneNumber'
  if (PartyA !== PhoneNumber || !PartyB) return 'Invalid PartyA'
  const url = String(CallBackURL)
  if (!PUBLIC_ADDRESS.test(url) || REFUSED_WORDS.test(url)) return 'Invalid CallBackURL'
  if (!/^[A-Za-z0-9]{1,12}$/.test(String(AccountReference))) return 'Invalid AccountReference'
  return /^.{1,13}$/.test(String(TransactionDesc)) ? undefined : 'Invalid Remarks'
}
