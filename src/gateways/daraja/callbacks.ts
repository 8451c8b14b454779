// Callbacks of Daraja. They are not signed: the secret path proves the sender, and says what they are about. What no query
// returns (the receipt number, the end of a refund) is kept as a report.

import { createHash } from 'node:crypto'
import { type Static, Type } from 'typebox'
import { jsonReader, parseExactJson, schemaReader } from '../../kit/exact-json.ts'
import type { ParsedWebhook, WebhookRequest } from '../gateway.ts'
import { Maybe } from '../reply.ts'

const Text = (maxLength: number) => Type.String({ maxLength })
// Numbers are read as text, so that no digit is lost.
const Value = Maybe(Text(500))

const readPushCallback = schemaReader(
  Type.Object({
    Body: Type.Object({
      stkCallback: Type.Object({
        CheckoutRequestID: Type.String({ minLength: 1, maxLength: 100 }),
        ResultCode: Text(50),
        ResultDesc: Maybe(Text(2_000)),
        CallbackMetadata: Maybe(
          Type.Object({ Item: Type.Array(Type.Object({ Name: Text(100), Value }), { maxItems: 50 }) }),
        ),
      }),
    }),
  }),
)

const PushReport = Type.Object({
  checkoutRequestId: Text(100),
  resultCode: Text(50),
  amount: Type.Optional(Text(100)),
  receipt: Type.Optional(Text(100)),
  time: Type.Optional(Text(100)),
})
export type PushReport = Static<typeof PushReport>
const readPushReport = jsonReader(PushReport)

const Parameter = Type.Object({ Key: Text(100), Value })

const readResultCallback = schemaReader(
  Type.Object({
    Result: Type.Object({
      ResultCode: Text(50),
      ResultDesc: Maybe(Text(2_000)),
      OriginatorConversationID: Maybe(Text(100)),
      ConversationID: Maybe(Text(100)),
      TransactionID: Maybe(Text(100)),
      ResultParameters: Maybe(
        // One parameter alone comes without the list.
        Type.Object({ ResultParameter: Type.Union([Type.Array(Parameter, { maxItems: 50 }), Parameter]) }),
      ),
    }),
  }),
)

const RefundReport = Type.Object({
  resultCode: Text(50),
  text: Text(200),
  originator: Type.Optional(Text(100)),
  conversation: Type.Optional(Text(100)),
  transaction: Type.Optional(Text(100)),
  amount: Type.Optional(Text(100)),
  /** Only in the result of a reversal: the receipt number of the payment that was reversed. */
  original: Type.Optional(Text(100)),
  /** Only in the result of a status query: the status of the payout that was asked about, and its receipt number. */
  status: Type.Optional(Text(100)),
  receipt: Type.Optional(Text(100)),
})
export type RefundReport = Static<typeof RefundReport>
const readRefundReport = jsonReader(RefundReport)

/** The report of the prompt with this id; that of any other says nothing about it. */
export function pushReportOf(report: string | undefined, reference: string | null): PushReport | undefined {
  const read = report === undefined ? undefined : readPushReport(report)
  return read && read.checkoutRequestId === reference ? read : undefined
}

export function refundReportOf(report: string | undefined): RefundReport | undefined {
  return report === undefined ? undefined : readRefundReport(report)
}

/** `isPayout`: refunds are payouts under an id of ours, and their status can be queried. */
export function parseCallback({ callback, rawBody }: WebhookRequest, isPayout: boolean): ParsedWebhook {
  if (callback === null) return { kind: 'forged' }
  if (callback.kind === 'account') return { kind: 'ignored', reason: 'not about a payment' }
  const value = parseExactJson(rawBody.toString())
  switch (callback.kind) {
    case 'attempt':
      return parsePush(callback.key, value, rawBody)
    case 'refund':
      return parseRefund(callback.key, value, isPayout)
    case 'refund_status':
      return parseRefundStatus(callback.key, value)
  }
}

function parsePush(key: string, value: unknown, rawBody: Buffer): ParsedWebhook {
  const prompt = readPushCallback(value)?.Body.stkCallback
  if (!prompt) return { kind: 'ignored', reason: 'not the result of a prompt' }
  const { CheckoutRequestID: checkoutRequestId, ResultCode: resultCode } = prompt
  const items = new Map(prompt.CallbackMetadata?.Item.map(({ Name, Value: value }) => [Name, value]))
  const report: PushReport = {
    checkoutRequestId,
    resultCode,
    ...optional('amount', items.get('Amount')),
    ...optional('receipt', items.get('MpesaReceiptNumber')),
    ...optional('time', items.get('TransactionDate')),
  }
  return {
    kind: 'payment',
    key,
    eventId: createHash('sha256').update(rawBody).digest('hex'),
    referenceHint: checkoutRequestId,
    report: JSON.stringify(report),
    // It alone has the receipt number.
    ...(resultCode === '0' && { isFinalReport: true as const }),
  }
}

function parseRefund(key: string, value: unknown, isPayout: boolean): ParsedWebhook {
  const report = toRefundReport(value)
  if (!report) return { kind: 'ignored', reason: 'not a result' }
  const reported = { kind: 'own_refund', key, report: JSON.stringify(report) } as const
  // A payout has an id of ours; the result of anything else is not its end.
  return !isPayout || report.originator === key ? { ...reported, isFinalReport: true } : reported
}

/**
 * A status query that failed says nothing about the payout, though it may name the id of the payout: the payout may have been
 * executed, or may be in progress.
 */
function parseRefundStatus(key: string, value: unknown): ParsedWebhook {
  const report = toRefundReport(value)
  if (report?.status === undefined) return { kind: 'ignored', reason: 'not the status of a payout' }
  const reported = { kind: 'own_refund', key, report: JSON.stringify(report) } as const
  return report.status === COMPLETED ? { ...reported, isFinalReport: true } : reported
}

function toRefundReport(value: unknown): RefundReport | undefined {
  const result = readResultCallback(value)?.Result
  if (!result) return undefined
  const given = result.ResultParameters?.ResultParameter ?? []
  const parameters = new Map((Array.isArray(given) ? given : [given]).map((one) => [one.Key, one.Value]))
  return {
    resultCode: result.ResultCode,
    text: (result.ResultDesc ?? '').slice(0, 100).toWellFormed(),
    ...optional('originator', result.OriginatorConversationID),
    ...optional('conversation', result.ConversationID),
    ...optional('transaction', result.TransactionID),
    ...optional('amount', parameters.get('Amount')),
    ...optional('original', parameters.get('OriginalTransactionID')),
    ...optional('status', parameters.get('TransactionStatus')),
    ...optional('receipt', parameters.get('ReceiptNo')),
  }
}

/** The status of a payout that has reached the payer. */
export const COMPLETED = 'Completed'

const MAX_FIELD = 100

function optional<Name extends string>(name: Name, value: string | null | undefined) {
  const isKept = value !== undefined && value !== null && value !== '' && value.length <= MAX_FIELD
  // A boundary: one field with this name.
  return (isKept ? { [name]: value } : {}) as Partial<Record<Name, string>>
}
