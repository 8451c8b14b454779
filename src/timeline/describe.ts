// One sentence for each entry of a timeline.

import { FAILURES, type FailureCode } from '../core/failures.ts'
import { formatAmount, money } from '../core/money.ts'
import { namesOperator } from '../core/text/operator-names.ts'
import type { PaymentRow } from '../payments/payment.ts'
import type { TimelineRow, TimelineType } from './queries.ts'

type Row = TimelineRow<TimelineType>
type Describe = (row: Row, amount: string) => string

/** "The payment is successful (api)." and so on; the entry has the same facts as fields. */
export function describeEntry(payment: Pick<PaymentRow, 'currency'>, row: Row): string {
  const { currency } = payment
  const amount =
    row.amountMinor === null ? '' : `${currency} ${formatAmount(money(row.amountMinor, currency))}`
  return SENTENCES[row.type](row, amount)
}

const SENTENCES: Readonly<Record<TimelineType, Describe>> = {
  status_changed: ({ status, detail, source, count }) =>
    count === 1
      ? `The payment was created with status ${status}.`
      : `The status changed to ${status}${detail === null ? '' : ` (${detail})`}${isAfterRefund(status) ? '' : `; reported by ${SOURCES[source ?? ''] ?? source}`}.`,
  attempt_started: ({ detail, source, count }) => `Attempt ${count} started at ${source} by ${detail}.`,
  payer_sent: ({ count }) => `The payer said that the money of attempt ${count} was sent.`,
  payer_returned: ({ source, count }) => `The payer came back from ${source} (attempt ${count}).`,
  gateway_asked: ({ source, count }) =>
    `${source} was asked about the outcome${count && count > 1 ? `, ${count} times so far` : ''}.`,
  attempt_ended: ({ status, detail, source, count }, amount) =>
    `Attempt ${count} at ${source} ended: ${status}${amount && ` with ${amount}`}${reasonOf(detail)}.`,
  settled: (_, amount) => `${amount} became available in the wallet.`,
  refund_approval_requested: ({ detail }, amount) =>
    `A person asked for a refund of ${amount}${detail === null ? '' : ` (${detail})`}; another person must approve it.`,
  refund_approval_decided: ({ status, detail }, amount) =>
    `The request for a refund of ${amount} was ${status}${detail === null ? '' : ` (${detail})`}.`,
  refund_requested: ({ detail }, amount) =>
    `A refund of ${amount} was requested${detail === null ? '' : ` (${detail})`}.`,
  refund_ended: ({ status, detail }, amount) =>
    `The refund of ${amount} ended: ${status}${detail === null ? '' : ` (${detail})`}.`,
  refund_failed_late: ({ detail, source }, amount) =>
    `${source} reported that the refund of ${amount} failed after its success${detail === null ? '' : ` (${detail})`}.`,
  refund_credited_back: (_, amount) =>
    `The failed refund of ${amount} was credited back: it is in the wallet, and can be refunded again.`,
  dispute_opened: ({ detail }, amount) => `The payer disputed ${amount} (dispute ${detail}).`,
  dispute_closed: ({ status, detail }) => `The dispute ${detail} ended: ${status}.`,
  case_opened: ({ status }) => `A case was opened: ${status}.`,
  case_resolved: ({ status, detail, source }) =>
    `The case was resolved: ${status}${namesOperator(source) ? '' : ` (${detail})`}.`,
  event: ({ status }) => `The event ${status} was recorded.`,
  delivery: ({ status, detail, source, count }) =>
    `${source} was sent to ${detail}: ${status} after ${count} ms.`,
}

const SOURCES: Readonly<Record<string, string>> = {
  api: 'an API request',
  checkout: 'the checkout page',
  return: 'the return of the payer',
  verify: 'a status check of the merchant',
  resolver: 'a status check in the background',
  webhook: 'a status check after a webhook of the gateway',
  expiry: 'the end of its time',
  case: 'the resolution of a case',
}

/** The refund is an entry before it: a person or a request made it, or it was found at the provider. */
export function isAfterRefund(status: string | null): boolean {
  return status === 'refunded' || status === 'partially_refunded'
}

function reasonOf(failureCode: string | null): string {
  // A boundary: the column has the codes of this table.
  const failure = failureCode === null ? undefined : FAILURES[failureCode as FailureCode]
  return failure ? `, ${failureCode} (${failure.message.replace(/\.$/, '')})` : ''
}
