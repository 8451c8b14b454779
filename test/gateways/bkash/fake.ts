// For tests: Tokenized Checkout of bKash as its documentation describes it. Errors come with HTTP 200.

import { randomUUID } from 'node:crypto'
import type { TestContext } from 'node:test'
import { systemClock } from '../../../src/kit/clock.ts'
import type { CheckoutEnding, FakeProvider, RefundBehavior } from '../conformance.ts'
import { type FakeReply, type FakeRequest, startFakeServer } from '../fake-server.ts'

export const CREDENTIALS = {
  appKey: '5nej5keguopj928ekcj3dne8p',
  appSecret: '1honf6u1c56mqcivtc9ffl960slp4v2756jle5925nbooa46ch62',
  username: 'sandboxTokenizedUser07',
  password: 'sandboxTokenizedUser07@98765',
}

export const TOKEN_PATH = /^\/v1\.2\.0-beta\/tokenized\/checkout\/token\/grant$/

interface Payment {
  paymentID: string
  mode: string
  payerReference: string
  amount: string
  currency: string
  intent: string
  merchantInvoiceNumber: string
  transactionStatus: string
  verificationStatus: string
  isExecuting?: boolean
  trxID?: string
  paymentExecuteTime?: string
  /** The error with which its execution ends. */
  executionError?: string
}

interface Refund {
  refundTrxId: string
  refundTransactionStatus: string
  refundAmount: string
  completedTime: string
}

export interface FakeBkash extends FakeProvider {
  /** The execution of this payment answers with this error, and takes no money. */
  failExecution(key: string, code: string): void
  /** The same error, although the money is taken. */
  confuseExecution(key: string, code: string): void
  /** Payments that are created from now on answer with this error. */
  refuseCreation(code: string | null): void
  /** Staff of the merchant refund a part in the portal of bKash. */
  refundInPortal(key: string, amount: string): string
  /** Where bKash sends the payer of this payment back to. */
  returnUrl(paymentId: string, status: 'success' | 'failure' | 'cancel'): string
  /** How many tokens were requested. */
  grants(): number
}

const error = (statusCode: string): FakeReply => ({
  http: 200,
  body: { statusCode, statusMessage: `error ${statusCode} about 01770618575` },
})
const refundError = (externalCode: string): FakeReply => ({
  http: 400,
  body: { internalCode: 'an_error', externalCode, errorMessageEn: 'an error', errorMessageBn: null },
})

/** In the time of Bangladesh, as in 2019-08-06T12:22:41:428 GMT+0600. */
const timeOf = (now: Date) => {
  const local = new Date(now.getTime() + 6 * 3_600_000).toISOString()
  return `${local.slice(0, 19)}:${local.slice(20, 23)} GMT+0600`
}

const newTrxId = () => randomUUID().replaceAll('-', '').slice(0, 10).toUpperCase()
const toMinor = (text: string): bigint => BigInt(text.replace('.', ''))
const toText = (minor: bigint) => `${minor / 100n}.${String(minor % 100n).padStart(2, '0')}`

export async function startFakeBkash(t: Pick<TestContext, 'after'>): Promise<FakeBkash> {
  const payments = new Map<string, Payment>()
  const refunds = new Map<string, Refund[]>()
  const callbackUrls = new Map<string, string>()
  const executed: string[] = []
  let tokens = new Set<string>()
  let grants = 0
  let refundBehavior: RefundBehavior = 'succeeds'
  let creationError: string | null = null
  const confused = new Map<string, string>()

  const requirePayment = (key: string): Payment => {
    const payment = [...payments.values()].findLast((one) => one.merchantInvoiceNumber === key)
    if (!payment) throw new Error('no such payment')
    return payment
  }

  const grant = ({ headers, text }: FakeRequest): FakeReply => {
    grants += 1
    const { app_key: appKey, app_secret: appSecret } = JSON.parse(text)
    const given = { appKey, appSecret, username: headers.username, password: headers.password }
    if (JSON.stringify(given) !== JSON.stringify(CREDENTIALS)) return error('2001')
    const id_token = `token-${randomUUID()}`
    tokens.add(id_token)
    const answer = {
      statusCode: '0000',
      statusMessage: 'Successful',
      token_type: 'Bearer',
      expires_in: 3_600,
    }
    return { http: 200, body: { ...answer, id_token, refresh_token: randomUUID() } }
  }

  const returnUrl: FakeBkash['returnUrl'] = (paymentID, status) =>
    `${callbackUrls.get(paymentID)}?paymentID=${paymentID}&status=${status}&signature=cm8H`

  const create = (text: string): FakeReply => {
    const { callbackURL, ...given } = JSON.parse(text)
    if (creationError !== null) return error(creationError)
    if (!/^\d+\.\d\d$/.test(given.amount)) return error('2006')
    if (given.currency !== 'BDT') return error('2007')
    if (given.mode !== '0011' || given.intent !== 'sale') return error('2063')
    if (/[<>&]/.test(given.merchantInvoiceNumber)) return error('2031')
    if (callbackURL.includes('?')) return error('2049')
    const paymentID = `TR0011${newTrxId()}${systemClock.now().getTime()}`
    const payment = { ...given, paymentID, transactionStatus: 'Initiated', verificationStatus: 'Incomplete' }
    payments.set(paymentID, payment)
    callbackUrls.set(paymentID, callbackURL)
    const { amount, currency, intent, merchantInvoiceNumber } = given
    return {
      http: 200,
      body: {
        ...{ paymentID, statusCode: '0000', statusMessage: 'Successful', callbackURL },
        bkashURL: `https://sandbox.payment.bkash.com/?paymentId=${paymentID}&hash=9vN&mode=0011`,
        successCallbackURL: returnUrl(paymentID, 'success'),
        failureCallbackURL: returnUrl(paymentID, 'failure'),
        cancelledCallbackURL: returnUrl(paymentID, 'cancel'),
        ...{ amount, intent, currency, merchantInvoiceNumber },
        paymentCreateTime: timeOf(systemClock.now()),
        transactionStatus: 'Initiated',
      },
    }
  }

  const pay = (payment: Payment) => {
    executed.push(payment.merchantInvoiceNumber)
    Object.assign(payment, {
      transactionStatus: 'Completed',
      verificationStatus: 'Complete',
      trxID: newTrxId(),
      paymentExecuteTime: timeOf(systemClock.now()),
    })
  }

  const execute = (payment: Payment): FakeReply => {
    if (payment.transactionStatus === 'Completed') return error('2062')
    if (payment.transactionStatus !== 'Initiated' || payment.isExecuting) return error('2056')
    if (payment.verificationStatus !== 'Complete') return error('2060')
    payment.isExecuting = true
    if (payment.executionError) return error(payment.executionError)
    pay(payment)
    const confusion = confused.get(payment.merchantInvoiceNumber)
    if (confusion !== undefined) return error(confusion)
    const { paymentID, payerReference, trxID, amount, transactionStatus, paymentExecuteTime } = payment
    const { currency, intent, merchantInvoiceNumber } = payment
    return {
      http: 200,
      body: {
        ...{ statusCode: '0000', statusMessage: 'Successful', paymentID, payerReference },
        ...{ customerMsisdn: '01770618575', trxID, amount, transactionStatus, paymentExecuteTime },
        ...{ currency, intent, merchantInvoiceNumber },
      },
    }
  }

  const showStatus = (payment: Payment): FakeReply => {
    const { merchantInvoiceNumber: merchantInvoice, isExecuting: _, executionError: __, ...shown } = payment
    return { http: 200, body: { statusCode: '0000', statusMessage: 'Successful', ...shown, merchantInvoice } }
  }

  const listed = (paymentId: string) => refunds.get(paymentId) ?? []
  const addRefund = (paymentId: string, refundAmount: string, status = 'Completed'): Refund => {
    const completedTime = timeOf(systemClock.now())
    const refund = {
      refundTrxId: newTrxId(),
      refundTransactionStatus: status,
      refundAmount,
      completedTime,
    }
    refunds.set(paymentId, [...listed(paymentId), refund])
    return refund
  }
  const given = (paymentId: string) =>
    listed(paymentId)
      .filter(({ refundTransactionStatus }) => refundTransactionStatus === 'Completed')
      .map(({ refundAmount }) => toMinor(refundAmount))

  const refund = (payment: Payment, text: string): FakeReply => {
    const { refundAmount, sku, reason } = JSON.parse(text)
    if (!sku || !reason) return refundError('2073')
    const left = toMinor(payment.amount) - given(payment.paymentID).reduce((sum, one) => sum + one, 0n)
    if (toMinor(refundAmount) > left) return refundError('2072')
    if (refundBehavior === 'fails') return refundError('2074')
    const status = refundBehavior === 'waits' ? 'Initiated' : 'Completed'
    const made = addRefund(payment.paymentID, refundAmount, status)
    const original = { originalTrxId: payment.trxID, originalTrxAmount: payment.amount, currency: 'BDT' }
    return { http: 200, body: { ...original, ...made, sku, reason } }
  }

  const handleRefund = (path: string, text: string): FakeReply => {
    const { paymentId, trxId } = JSON.parse(text)
    const payment = payments.get(paymentId)
    if (!payment?.trxID || payment.trxID !== trxId) return refundError('2077')
    if (path.endsWith('/transaction')) return refund(payment, text)
    const original = { originalTrxId: trxId, originalTrxAmount: payment.amount }
    return { http: 200, body: { ...original, refundTransactions: listed(paymentId) } }
  }

  const handle = (path: string, text: string): FakeReply => {
    if (path.startsWith('/v2/tokenized-checkout/refund/payment/')) return handleRefund(path, text)
    if (path === '/v1.2.0-beta/tokenized/checkout/create') return create(text)
    const payment = payments.get(JSON.parse(text).paymentID)
    if (!payment) return error('2002')
    if (path === '/v1.2.0-beta/tokenized/checkout/execute') return execute(payment)
    if (path === '/v1.2.0-beta/tokenized/checkout/payment/status') return showStatus(payment)
    return { http: 403, body: { message: 'Missing Authentication Token' } }
  }

  const server = await startFakeServer(t, async (request): Promise<FakeReply> => {
    const { method, path, headers, text } = request
    if (method !== 'POST') return { http: 403, body: { message: 'Missing Authentication Token' } }
    if (TOKEN_PATH.test(path)) return grant(request)
    if (!tokens.has(headers.authorization ?? '') || headers['x-app-key'] !== CREDENTIALS.appKey)
      return { http: 401, body: { message: 'The incoming token has expired' } }
    return handle(path, text)
  })

  return {
    server,
    confirm: (key) => void Object.assign(requirePayment(key), { verificationStatus: 'Complete' }),
    finish: (key, ending) => finish(requirePayment(key), ending, pay),
    executions: (key) => executed.filter((one) => one === key).length,
    webhook: (key) => ({
      headers: { 'content-type': 'application/json' },
      body: Buffer.from(JSON.stringify({ Type: 'Notification', merchantInvoiceNumber: key })),
    }),
    setRefundBehavior(behavior) {
      refundBehavior = behavior
    },
    refunds: (key) => given(requirePayment(key).paymentID),
    rejectTokens() {
      tokens = new Set()
    },
    failExecution: (key, code) => void Object.assign(requirePayment(key), { executionError: code }),
    confuseExecution: (key, code) => void confused.set(key, code),
    refuseCreation(code) {
      creationError = code
    },
    refundInPortal: (key, amount) => addRefund(requirePayment(key).paymentID, amount).refundTrxId,
    returnUrl,
    grants: () => grants,
  }
}

function finish(payment: Payment, ending: CheckoutEnding, pay: (payment: Payment) => void): void {
  if (ending.kind === 'waits') payment.verificationStatus = 'Incomplete'
  if (ending.kind === 'declines') payment.transactionStatus = ending.how
  if (ending.kind !== 'pays') return
  pay(payment)
  const { minor, currency, key } = ending
  if (minor !== undefined) payment.amount = toText(minor)
  if (currency !== undefined) payment.currency = currency
  if (key !== undefined) payment.merchantInvoiceNumber = key
}
