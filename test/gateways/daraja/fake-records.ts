// For tests: the records of the fake Daraja, and its JSON about them.

import type { RefundBehavior } from '../conformance.ts'
import type { FakeReply } from '../fake-server.ts'

export interface Prompt {
  id: string
  merchantRequest: string
  key: string
  url: string
  amount: bigint
  phone: string
  account: string
  /** open, processing, or the final result code. */
  state: string
  text: string
  receipt: string | null
  at: Date
}

export interface Refund {
  key: string
  attemptKey: string
  url: string
  originator: string
  conversation: string
  transaction: string
  amount: bigint
  behavior: RefundBehavior
}

export const reply = (body: unknown): FakeReply => ({ http: 200, body })

export const errorReply = (http: number, errorCode: string, errorMessage: string): FakeReply => ({
  http,
  body: { requestId: '11728-2929992-1', errorCode, errorMessage },
})

const local = (time: Date) => new Date(time.getTime() + 3 * 3_600_000).toISOString()

/** YYYYMMDDHHmmss in East Africa Time. */
export const digits = (time: Date) => local(time).slice(0, 19).replace(/\D/g, '')

const shillings = (minor: bigint) => `${minor / 100n}.${String(minor % 100n).padStart(2, '0')}`

export function statusOf({ id, merchantRequest, state, text }: Prompt): FakeReply {
  // While the prompt is open; later the same is said with HTTP 200.
  if (state === 'open') return errorReply(500, '500.001.1001', 'The transaction is being processed')
  const isProcessing = state === 'processing'
  return reply({
    ResponseCode: '0',
    ResponseDescription: 'The service request has been accepted successfully',
    MerchantRequestID: merchantRequest,
    CheckoutRequestID: id,
    ResultCode: isProcessing ? '4999' : state,
    ResultDesc: isProcessing ? 'The transaction is still under processing' : text,
  })
}

export const listedPayment = ({ receipt, at, phone, account, amount }: Prompt) => ({
  transactionId: receipt,
  trxDate: `${local(at).slice(0, 19)}Z`,
  msisdn: Number(phone.slice(3)),
  sender: 'MPESA',
  transactiontype: 'c2b-pay-bill-debit',
  billreference: account,
  amount: shillings(amount),
  organizationname: 'Duka La Vitabu',
})

/** The amount is a number with decimals, so it is written by hand. */
export function callbackOf({ id, merchantRequest, state, text, receipt, amount, at, phone }: Prompt) {
  const result = { MerchantRequestID: merchantRequest, CheckoutRequestID: id, ResultDesc: text }
  const code = /^\d+$/.test(state) ? Number(state) : state
  if (receipt === null) return { Body: { stkCallback: { ...result, ResultCode: code } } }
  const Item = [
    { Name: 'Amount', Value: Number(shillings(amount)) },
    { Name: 'MpesaReceiptNumber', Value: receipt },
    { Name: 'Balance' },
    { Name: 'TransactionDate', Value: Number(digits(at)) },
    { Name: 'PhoneNumber', Value: Number(phone) },
  ]
  return { Body: { stkCallback: { ...result, ResultCode: 0, CallbackMetadata: { Item } } } }
}

/** The result of a reversal or a payout. */
export function resultOf({ originator, conversation, transaction, amount, behavior }: Refund) {
  const isPaid = behavior === 'succeeds'
  return {
    Result: {
      ResultType: 0,
      ResultCode: isPaid ? 0 : 1,
      ResultDesc: isPaid ? 'The service request is processed successfully.' : 'The balance is insufficient.',
      OriginatorConversationID: originator,
      ConversationID: conversation,
      TransactionID: transaction,
      ...(isPaid && {
        ResultParameters: { ResultParameter: [{ Key: 'Amount', Value: Number(shillings(amount)) }] },
      }),
    },
  }
}

/** The result of a status query, which names the id that it asked about; an unknown payout has no parameters. */
export function statusResultOf(originator: string, refund: Refund | undefined) {
  const head = {
    ResultType: 0,
    OriginatorConversationID: originator,
    ConversationID: 'AG_20261117_status',
    TransactionID: 'SRV0000000',
  }
  if (refund?.behavior !== 'succeeds')
    return { Result: { ...head, ResultCode: 2032, ResultDesc: 'The transaction does not exist.' } }
  const ResultParameter = [
    { Key: 'DebitPartyName', Value: '600426 - Duka La Vitabu' },
    { Key: 'TransactionStatus', Value: 'Completed' },
    { Key: 'Amount', Value: Number(shillings(refund.amount)) },
    { Key: 'ReceiptNo', Value: refund.transaction },
    { Key: 'ReasonType' },
  ]
  return { Result: { ...head, ResultCode: 0, ResultDesc: 'Success', ResultParameters: { ResultParameter } } }
}
