import { Type } from 'typebox'
import { singlePage } from '../core/page.ts'
import type { Clock } from '../kit/clock.ts'
import type { Db } from '../kit/db/db.ts'
import { listed, type Route, route } from '../kit/http/route.ts'
import { AmountText, CurrencyCode, EnumList, Nullable } from '../kit/http/schema.ts'
import { GROUPS, reportCollections } from './collections.ts'

const amount = (description: string) => Type.String({ ...AmountText, description })
const grouped = (description: string) => Nullable(Type.String({ description }))

const CollectionRecord = Type.Object({
  day: grouped('The day in UTC; null unless the report is grouped by day.'),
  currency: CurrencyCode,
  paymentGateway: grouped('Null unless the report is grouped by gateway.'),
  channel: grouped('Null unless the report is grouped by channel, and for payments without an attempt.'),
  status: grouped('Null unless the report is grouped by status.'),
  payments: Type.Integer({ description: 'All payments and charges, also those that are not paid.' }),
  paidPayments: Type.Integer({ description: 'Those that were paid, also if they were refunded later.' }),
  amount: amount('The total that was requested.'),
  amountPaid: amount('The total that was collected.'),
  fees: amount('The total of the known fees.'),
  unknownFees: Type.Integer({ description: 'How many paid payments have an unknown fee.' }),
  netAmount: amount('amountPaid without fees.'),
  refundedAmount: amount('What was refunded of these payments until now.'),
})

const day = (description: string) =>
  Type.String({ format: 'date', description, 'x-message': 'must be a day, such as 2026-03-14.' })

export function reportRoutes(app: { db: Db; clock: Clock }): Route[] {
  return [
    route({
      method: 'GET',
      path: '/api/v1/reports/collections',
      tag: 'Misc',
      scope: 'reports:read',
      summary: 'Report collections',
      description:
        'Sums of payments and charges, grouped by one or more of day, currency, gateway, channel and status. Currencies are never added together, so every row has one. A payment counts on the day on which it was paid, or on which it was created while it is not paid; days are in UTC. The sums are exact at the time of the request and agree with the ledger. At most 366 days.',
      query: Type.Object({
        from: Type.Optional(day('The first day; absent: 30 days up to the last one.')),
        to: Type.Optional(day('The last day, inclusive; absent: today.')),
        groupBy: Type.Optional(EnumList(GROUPS, 'By day if absent.')),
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
