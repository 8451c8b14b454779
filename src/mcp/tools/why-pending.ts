import { unknownBackoffMs } from '../../outcomes/schedule.ts'
import {
  PAYMENT_SCOPES,
  PaymentName,
  type PaymentRecord,
  requirePayment,
  summarizePayment,
} from '../payment.ts'
import { readTool } from '../tool.ts'
import { describePayment, meaningOf, readTimeline } from './explain-payment.ts'

interface Wait {
  waitsFor: string
  next: string
  advice: string
}

const WEBHOOKS = 'The gateway is polled in the background, and its webhooks trigger an earlier check.'
const CASE: Wait = {
  waitsFor: 'A person must decide: a case is open.',
  next: 'Nothing happens by itself, unless the gateway reports the outcome meanwhile.',
  advice:
    'list_cases shows the case if the merchant decides it, and resolve_case resolves it. Otherwise the operator of the service decides.',
}

const secondsOf = (polls: number) => unknownBackoffMs(polls) / 1_000

/** What an open payment waits for, by its status reason. */
const WAITS: Readonly<Record<string, Wait>> = {
  awaiting_customer: {
    waitsFor:
      'The payer must approve or complete the payment: on the page of the gateway, on the phone, or by a transfer.',
    next: `${WEBHOOKS} If nothing is paid, the payment expires.`,
    advice: 'Ask the payer to complete it, or wait for the expiry. cancel_payment ends it earlier.',
  },
  outcome_unknown: {
    waitsFor: 'The gateway has not said whether the money was taken.',
    next: `The gateway is polled, at first after ${secondsOf(0)} s and in the end every ${secondsOf(Number.POSITIVE_INFINITY)} s. The money is never requested a second time.`,
    advice:
      'Wait. Do not charge the payer again, and do not deliver yet. If many payments wait like this, the gateway has an outage: recent_failures shows it.',
  },
  marked_paid: {
    waitsFor: 'The payer says that the transfer was sent; the merchant must confirm that the money arrived.',
    next: 'Nothing happens before the merchant confirms or rejects it.',
    advice: 'Look at the receiving account, then confirm or reject the P2P payment in the API.',
  },
  customer_cancelled: {
    waitsFor: 'The payer has cancelled, and can still come back and pay.',
    next: 'Without a payment it ends as abandoned at its expiry.',
    advice: 'Nothing to do. cancel_payment ends it earlier.',
  },
  underpaid: CASE,
  amount_mismatch: CASE,
  needs_review: CASE,
  requires_review: CASE,
}

const OPEN: Wait = {
  waitsFor: 'The payer has not chosen a way to pay yet: the checkout page was not opened, or left.',
  next: 'Without a payment it expires.',
  advice: 'Send the payer to the checkout URL again. If it is never opened, check that your redirect works.',
}
const DECLINED: Wait = {
  waitsFor: 'The last attempt was declined, and the payer can try again on the checkout page.',
  next: 'Without another attempt it expires.',
  advice: 'Ask the payer to use another method; the failure says whether the same one may work later.',
}
const IN_PROGRESS: Wait = {
  waitsFor: 'An attempt is with the gateway, and has no outcome yet.',
  next: WEBHOOKS,
  advice: 'Wait a minute and look again.',
}

export const whyPending = readTool({
  name: 'why_pending',
  title: 'Say why a payment is pending',
  description:
    'For a payment or charge that has not ended: what it waits for, since when, what happens next and when, and what to do. For one that has ended it says so.',
  scopes: PAYMENT_SCOPES,
  input: { payment: PaymentName },
  async run(context, { payment: name }) {
    const payment = await requirePayment(context, name)
    const entries = await readTimeline(context, payment.uuid)
    const since = entries.findLast(({ type }) => type === 'status_changed')?.at ?? payment.createdAt
    const summary = summarizePayment(context, payment)
    const isOpen = ['pending', 'processing'].includes(payment.status)
    if (!isOpen)
      return {
        headline: `It is not pending. ${describePayment(payment)} It is so since ${since}.`,
        data: { isOpen, since, meaning: meaningOf(payment.status), payment: summary },
      }
    const wait = waitOf(payment)
    const lastCheckAt = entries.findLast(({ type }) => type === 'gateway_asked')?.at
    return {
      headline: `${describePayment(payment)} Since ${since}: ${wait.waitsFor} ${wait.next}`,
      data: {
        isOpen,
        since,
        ...wait,
        lastCheckAt,
        nextCheckAbout: nextCheckAt(payment, lastCheckAt),
        expiresAt: payment.expiresAt ?? undefined,
        payment: summary,
      },
    }
  },
})

function waitOf({ status, statusReason, attempts }: PaymentRecord): Wait {
  const known = statusReason === null ? undefined : WAITS[statusReason]
  if (known) return known
  if (status === 'processing') return IN_PROGRESS
  return attempts.at(-1)?.status === 'declined' ? DECLINED : OPEN
}

/** By the schedule of an unknown outcome; the service spreads its polls, so the time is approximate. */
function nextCheckAt({ statusReason, attempts }: PaymentRecord, lastCheckAt: string | undefined) {
  const startedAt = attempts.at(-1)?.startedAt
  if (statusReason !== 'outcome_unknown' || lastCheckAt === undefined || startedAt === undefined)
    return undefined
  const lastCheckMs = Date.parse(lastCheckAt)
  return new Date(lastCheckMs + delayAfterMs(lastCheckMs - Date.parse(startedAt))).toISOString()
}

/** The delay after a poll that was made this long after the start of the attempt, if the polls kept to the schedule. */
export function delayAfterMs(elapsedMs: number): number {
  let polls = 0
  for (let dueMs = unknownBackoffMs(0); dueMs <= elapsedMs; dueMs += unknownBackoffMs(polls)) polls += 1
  return unknownBackoffMs(polls)
}
