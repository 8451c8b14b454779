import { Type } from 'typebox'
import { singlePage } from '../core/page.ts'
import type { Clock } from '../kit/clock.ts'
import type { Db } from '../kit/db/db.ts'
import { listed, type Route, route } from '../kit/http/route.ts'
import { amountText, CurrencyCode, count, Enum, EnumList, Nullable, namedObject } from '../kit/http/schema.ts'
import { reportCollections } from './collections.ts'
import { GROUPS } from './ranges.ts'

const grouped = (description: string, example: string) =>
  Nullable(Type.String({ examples: [example] }), description)

const CollectionRecord = namedObject(
  'CollectionReport',
  {
    day: grouped('The day. Null unless the report is grouped by day.', '2026-03-14'),
    currency: CurrencyCode,
    paymentGateway: grouped('The gateway. Null unless the report is grouped by gateway.', 'paystack'),
    channel: grouped(
      'The channel. Null unless the report is grouped by channel, and for payments without an attempt.',
      'card',
    ),
    status: grouped('The status. Null unless the report is grouped by status.', 'successful'),
    payments: count('The number of payments and charges, also of those that are not paid.'),
    paidPayments: count('The number of those that were paid, also if they were refunded later.'),
    amount: amountText('The total that was requested.'),
    amountPaid: amountText('The total that was collected.'),
    fees: amountText('The total of the known fees.'),
    unknownFees: count('How many paid payments have an unknown fee.'),
    netAmount: amountText('amountPaid less fees.'),
    refundedAmount: amountText('What was refunded of these payments until now.'),
  },
  { description: 'The sums of the payments of one group, in one currency.' },
)

const day = (description: string) =>
  Type.String({
    format: 'date',
    description,
    'x-message': 'must be a day, such as 2026-03-14.',
    examples: ['2026-03-14'],
  })

export function reportRoutes(app: { db: Db; clock: Clock }): Route[] {
  return [
    route({
      method: 'GET',
      path: '/api/v1/reports/collections',
      tag: 'Misc',
      scope: 'reports:read',
      operationId: 'reports.collections',
      summary: 'Get the report of collections',
      description:
        'Sums of payments and charges, grouped by one or more of day, currency, gateway, channel and status. Currencies are never added together, so every row has one. A payment counts on the day on which it was paid, or on which it was created while it is not paid; days are in UTC unless timeZone names another zone. The sums are exact at the time of the request and agree with the ledger. At most 366 days.',
      query: Type.Object({
        from: Type.Optional(day('The first day. Absent: 30 days up to the last one.')),
        to: Type.Optional(day('The last day, inclusive. Absent: today.')),
        timeZone: Type.Optional(
          Type.String({
            pattern: '^[A-Za-z][A-Za-z0-9_+/-]{0,63}$',
            description: 'The time zone of the days, such as Africa/Nairobi. Absent: UTC.',
            'x-message': 'must be the name of a time zone, such as Africa/Nairobi.',
          }),
        ),
        groupBy: Type.Optional(EnumList(Enum(GROUPS), 'What each row stands for. Absent: a day.')),
      }),
      response: { http: 200, data: CollectionRecord, list: true },
      errors: ['validation_failed'],
      examples: {
        data: [
          {
            day: '2026-03-14',
            currency: 'KES',
            paymentGateway: null,
            channel: null,
            status: null,
            payments: 120,
            paidPayments: 98,
            amount: '150000.00',
            amountPaid: '122500.00',
            fees: '3552.50',
            unknownFees: 0,
            netAmount: '118947.50',
            refundedAmount: '1250.00',
          },
        ],
      },
      handle: async ({ merchant, query }) => {
        const rows = await reportCollections(app, merchant, query)
        return listed('Collections retrieved.', rows, singlePage(rows.length))
      },
    }),
  ]
}
