// The timeline of a payment: what happened, in order and in words, for support and finance.

import { Type } from 'typebox'
import type { Merchant } from '../core/merchant.ts'
import { formatAmount, money } from '../core/money.ts'
import { singlePage } from '../core/page.ts'
import { archivedBefore, withBoundary } from '../kit/db/lists/archive-boundary.ts'
import { listed, type PersonRoute, personRoute, type Route, route } from '../kit/http/route.ts'
import {
  AmountText,
  Enum,
  Nullable,
  namedObject,
  text,
  timestamp,
  Uuid,
  UuidParams,
} from '../kit/http/schema.ts'
import type { PaymentsApp } from '../payments/app.ts'
import { requirePayment } from '../payments/find.ts'
import type { PaymentRow } from '../payments/payment.ts'
import { describeEntry } from './describe.ts'
import { toHistory, withoutOperators } from './history.ts'
import { MAX_ENTRIES, selectTimeline, type TimelineRow, type TimelineType } from './queries.ts'

/** What a type means, where its name does not say it. */
const TYPES: Readonly<Record<TimelineType, string | null>> = {
  status_changed: null,
  attempt_started: null,
  payer_returned: 'The payer came back from the page of the gateway.',
  payer_sent: 'The payer said that the money was sent.',
  gateway_asked: 'The gateway was asked about the outcome of an attempt, for the last time.',
  attempt_ended: null,
  settled: 'The money became available in the wallet.',
  refund_approval_requested: 'A person asked for a refund that another must approve.',
  refund_approval_decided: 'A request for a refund was approved, rejected or withdrawn.',
  refund_requested: null,
  refund_ended: null,
  refund_failed_late: 'The gateway reported that a refund failed after its success.',
  refund_credited_back: 'The amount of such a refund is in the wallet again.',
  dispute_opened: null,
  dispute_closed: null,
  case_opened: 'A case was opened; the status is its kind.',
  case_resolved: 'A case was resolved; the status is the resolution.',
  event: null,
  delivery: 'An event was sent to a webhook endpoint.',
}

// Object.keys returns string[]; the keys of this constant are exactly those of its type.
const TYPE_NAMES = Object.keys(TYPES) as TimelineType[]

const TimelineEntry = namedObject(
  'TimelineEntry',
  {
    at: timestamp('When it happened, in UTC.'),
    type: Enum(TYPE_NAMES, {
      description: Object.entries(TYPES)
        .flatMap(([type, meaning]) => (meaning === null ? [] : `\`${type}\`: ${meaning}`))
        .join(' '),
    }),
    message: text('What happened, in a sentence for people. It may change.'),
    uuid: Nullable(
      Uuid,
      'The id of the attempt, refund, request for a refund, dispute, case or event. Null if there is none.',
    ),
    status: Nullable(
      Type.String(),
      'The new status, the event type, or the response to a delivery. Null for other entries.',
    ),
    paymentGateway: Nullable(Type.String(), 'The gateway of the attempt or refund. Null for other entries.'),
    amount: Nullable(AmountText, 'The amount that it is about, in major units. Null if there is none.'),
  },
  { description: 'One thing that happened to a payment.' },
)

export function timelineRoutes(app: PaymentsApp): Route[] {
  return [
    route({
      method: 'GET',
      path: '/api/v1/payments/{uuid}/timeline',
      tag: 'Checkout',
      scope: 'checkout:read',
      alsoScope: 'charges:read',
      operationId: 'payments.timeline',
      summary: 'Get the timeline of a payment or charge',
      description: `What happened, oldest first: changes of the status, attempts, status checks, refunds, disputes, cases, events and their deliveries. At most ${MAX_ENTRIES.toLocaleString('en')} entries.`,
      params: UuidParams,
      response: { http: 200, data: TimelineEntry, list: true },
      errors: ['invalid_uuid', 'payment_not_found'],
      examples: {
        data: [
          {
            at: '2026-03-14T09:27:10.004Z',
            type: 'attempt_started',
            message: 'Attempt 1 started at sandbox by card.',
            uuid: '0197a3c2-a3b4-7c55-9d01-3a1f0c5b7e22',
            status: null,
            paymentGateway: 'sandbox',
            amount: null,
          },
        ],
      },
      handle: async ({ merchant, params }) => {
        const { payment, rows, boundary } = await load(app, merchant, params.uuid)
        const entries = rows.filter(isOfApi).map((row) => toEntry(payment, row))
        const meta = withBoundary(singlePage(entries.length), boundary, payment.createdAt)
        return listed('Timeline retrieved.', entries, meta)
      },
    }),
  ]
}

/** The same for people, as facts that a screen puts into words of its language. Events have a list of their own. */
export function historyRoutes(app: PaymentsApp): PersonRoute[] {
  return [
    personRoute({
      method: 'GET',
      path: '/app/payments/{uuid}/history',
      scope: 'checkout:read',
      operationId: 'payments.history',
      params: UuidParams,
      handle: async ({ merchant, params }) => {
        const { payment, rows, boundary } = await load(app, merchant, params.uuid)
        const entries = toHistory(payment, rows).map(withoutOperators)
        const meta = withBoundary(singlePage(entries.length), boundary, payment.createdAt)
        return listed('History retrieved.', entries, meta)
      },
    }),
  ]
}

async function load(app: PaymentsApp, merchant: Merchant, uuid: string) {
  const payment = await requirePayment(app, merchant, { uuid })
  const [rows, boundary] = await Promise.all([
    app.db.query(selectTimeline, [merchant.id, payment.id]),
    archivedBefore(app.db, merchant.id),
  ])
  return { payment, rows, boundary }
}

const HAS_GATEWAY: ReadonlySet<TimelineType> = new Set([
  'attempt_started',
  'payer_returned',
  'payer_sent',
  'gateway_asked',
  'attempt_ended',
  'refund_requested',
  'refund_ended',
  'refund_failed_late',
  'refund_credited_back',
])

const isOfApi = (row: TimelineRow): row is TimelineRow<TimelineType> => Object.hasOwn(TYPES, row.type)

function toEntry(payment: PaymentRow, row: TimelineRow<TimelineType>) {
  const { at, type, id, status, source, amountMinor } = row
  return {
    at: at.toISOString(),
    type,
    message: describeEntry(payment, row),
    uuid: id,
    // The status of an attempt at its start and during polls is the one that it has now, which is no fact of that time.
    status: type === 'attempt_started' || type === 'gateway_asked' ? null : status,
    paymentGateway: HAS_GATEWAY.has(type) ? source : null,
    amount: amountMinor === null ? null : formatAmount(money(amountMinor, payment.currency)),
  }
}
