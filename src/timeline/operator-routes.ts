// The timeline of the payment of a case, for operators: as facts, with what people did about the case.

import { Type } from 'typebox'
import { requireCase } from '../cases/find.ts'
import { singlePage } from '../core/page.ts'
import { listed, type OperatorRoute, operatorRoute } from '../kit/http/route.ts'
import { AmountText, Nullable, namedObject, text, timestamp, Uuid, UuidParams } from '../kit/http/schema.ts'
import type { PaymentsApp } from '../payments/app.ts'
import { getPayment } from '../payments/find.ts'
import { toHistory } from './history.ts'
import { selectTimeline } from './queries.ts'

const CaseTimelineEntry = namedObject(
  'CaseTimelineEntry',
  {
    at: timestamp('When it happened, in UTC.'),
    type: text(
      'What happened: as in the timeline of the merchants’ API, without events, and with `case_asked`, `case_proposed`, `case_rejected` and `case_withdrawn`.',
      'case_asked',
    ),
    uuid: Nullable(
      Uuid,
      'The attempt, refund, request for a refund, dispute or case. Null if there is none.',
    ),
    status: Nullable(
      Type.String(),
      'The status; of a case its kind, the resolution, or what the gateway answered. Null if there is none.',
    ),
    detail: Nullable(
      Type.String(),
      'The channel, the failure code, the reason, the note, or the words of the provider. Null if there are none.',
    ),
    source: Nullable(
      Type.String(),
      'Who or what caused it: the gateway, the source of a change, or the person. Null if it is not known.',
    ),
    count: Nullable(
      Type.Integer(),
      'The number of the attempt, version or status check. Null if there is none.',
    ),
    amount: Nullable(AmountText, 'The amount that it is about, in major units. Null if there is none.'),
  },
  { description: 'One thing that happened to the payment of a case.' },
)

export function operatorTimelineRoutes(app: PaymentsApp): OperatorRoute[] {
  return [
    operatorRoute({
      method: 'GET',
      path: '/admin/v1/cases/{uuid}/timeline',
      operationId: 'cases.timeline',
      summary: 'Get the timeline of the payment of a case, oldest first',
      description: 'Attempts, status checks, refunds, disputes, cases, and what people did about them.',
      params: UuidParams,
      response: { http: 200, data: CaseTimelineEntry, list: true },
      errors: ['invalid_uuid', 'case_not_found'],
      examples: {
        data: [
          {
            at: '2026-03-14T09:31:02.118Z',
            type: 'case_asked',
            uuid: '0197a3c4-1c2d-7b6a-9e0f-4d5c6b7a8f90',
            status: 'not_found',
            detail: null,
            source: 'operator:Achieng',
            count: null,
            amount: null,
          },
        ],
      },
      handle: async ({ params }) => {
        const { row } = await requireCase(app, null, params.uuid)
        const payment = await getPayment(app, row)
        const rows = await app.db.query(selectTimeline, [row.merchantId, row.paymentId])
        const entries = toHistory(payment, rows)
        return listed('Timeline.', entries, singlePage(entries.length))
      },
    }),
  ]
}
