import { STATUS_MEANINGS } from '../../payments/states.ts'
import { type Envelope, requireSuccess } from '../api.ts'
import {
  amountOf,
  failureOf,
  PAYMENT_SCOPES,
  PAYMENTS_PATH,
  PaymentName,
  type PaymentRecord,
  requirePayment,
  summarizePayment,
} from '../payment.ts'
import { readTool, type ToolContext } from '../tool.ts'
import { untrusted } from '../untrusted.ts'
import { counted } from './fields.ts'

interface TimelineEntry {
  at: string
  type: string
  message: string
  status: string | null
  paymentGateway: string | null
  amount: string | null
}

/** Enough for several attempts with their events; the rest of a long one is in the API. */
const MAX_ENTRIES = 60

// Their sentences repeat text of others: the reason of a refund, the provider's message, a note, an address.
const QUOTING_TYPES: ReadonlySet<string> = new Set([
  'refund_requested',
  'refund_ended',
  'refund_failed_late',
  'dispute_opened',
  'dispute_closed',
  'case_resolved',
  'delivery',
])

export const explainPayment = readTool({
  name: 'explain_payment',
  title: 'Explain a payment',
  description:
    'Says what a payment or charge is and everything that happened to it, in order and in words: status changes, attempts and why they ended, questions to the gateway, refunds, disputes, cases, events and their deliveries to webhook endpoints.',
  scopes: PAYMENT_SCOPES,
  input: { payment: PaymentName },
  async run(context, { payment: name }) {
    const payment = await requirePayment(context, name)
    const entries = await readTimeline(context, payment.uuid)
    const shown = entries.slice(-MAX_ENTRIES)
    const left = entries.length - shown.length
    return {
      headline: `${describePayment(payment)} ${counted(entries.length, 'entry', 'entries')} in its timeline${left > 0 ? `, the first ${left} left out` : ''}.`,
      data: {
        payment: summarizePayment(context, payment),
        meaning: meaningOf(payment.status),
        attempts: payment.attempts.map(
          ({ paymentGateway, channel, status, failureCode, startedAt, endedAt }) => ({
            ...{ paymentGateway, channel, status, startedAt },
            failureCode: failureCode ?? undefined,
            endedAt: endedAt ?? undefined,
          }),
        ),
        timeline: shown.map(toEntry),
        timelineApi: `${context.publicUrl}${timelinePath(payment.uuid)}`,
      },
    }
  },
})

const timelinePath = (uuid: string) => `${PAYMENTS_PATH}/${uuid}/timeline`

export async function readTimeline({ call }: ToolContext, uuid: string): Promise<TimelineEntry[]> {
  const { data }: Envelope<TimelineEntry[]> = await requireSuccess(call, {
    method: 'GET',
    path: timelinePath(uuid),
  })
  return data
}

function toEntry({ at, type, message, status, amount, paymentGateway }: TimelineEntry) {
  if (!QUOTING_TYPES.has(type)) return { at, type, message }
  return {
    ...{ at, type },
    status: status ?? undefined,
    amount: amount ?? undefined,
    paymentGateway: paymentGateway ?? undefined,
    ...untrusted({ message }),
  }
}

/** Only facts of our own: no name, reference or message of others. */
export function describePayment(payment: PaymentRecord): string {
  const { status, statusReason, paymentGateway, paidAt } = payment
  const failure = paidAt === null ? failureOf(payment) : null
  const noun = payment.kind === 'charge' ? 'The charge' : 'The payment'
  const reason = statusReason === null ? '' : ` (${statusReason})`
  const why = failure === null ? '' : ` Last failure: ${failure.code}, ${failure.message}`
  return `${noun} of ${amountOf(payment)} at ${paymentGateway} is ${status}${reason}.${why}`
}

export function meaningOf(status: string): string {
  // A boundary: a later version may add a status.
  return Object.entries(STATUS_MEANINGS).find(([name]) => name === status)?.[1] ?? ''
}
