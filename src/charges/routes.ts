import { created, ok, type Route, route } from '../kit/http/route.ts'
import { UuidParams } from '../kit/http/schema.ts'
import type { PaymentsApp } from '../payments/app.ts'
import { CHARGE_BODY_EXAMPLE, CHARGE_EXAMPLE } from '../payments/examples.ts'
import { requireCharge } from '../payments/find.ts'
import { ChargeRecord } from '../payments/schema.ts'
import { serializeCharge } from '../payments/views.ts'
import { chargeSavedMethod } from './charge.ts'
import { chargeIssues, RecurringChargeBody, toChargeInput } from './input.ts'

export function chargeRoutes(app: PaymentsApp): Route[] {
  return [
    route({
      method: 'POST',
      path: '/api/v1/charges/recurring',
      audited: false,
      tag: 'Charges',
      scope: 'charges:write',
      operationId: 'charges.create',
      summary: 'Charge a saved payment method again',
      description:
        'Charges the method of a recurringToken without the customer present, such as for a subscription. A decline is 201 with status failed and its failure. An unknown outcome is 201 with status processing; it is resolved by checking the status at the gateway, never by charging again.',
      body: RecurringChargeBody,
      issues: chargeIssues,
      response: { http: 201, data: ChargeRecord },
      errors: [
        'invalid_currency',
        'amount_out_of_range',
        'amount_precision',
        'recurring_token_not_found',
        'duplicate_reference',
        'recurring_token_inactive',
        'customer_mismatch',
        'customer_blocked',
        'currency_not_supported_for_token',
        'card_data_not_allowed',
      ],
      examples: { body: CHARGE_BODY_EXAMPLE, data: CHARGE_EXAMPLE },
      handle: async ({ merchant, body, idempotencyKey }) => {
        const input = toChargeInput(body)
        const { payment, replayed, method, attempt } = await chargeSavedMethod(
          app,
          merchant,
          input,
          idempotencyKey ?? null,
        )
        return created(
          messageOf(payment.status),
          await serializeCharge(app, payment, { method, attempt }),
          replayed,
        )
      },
    }),
    route({
      method: 'GET',
      path: '/api/v1/charges/{uuid}',
      tag: 'Charges',
      scope: 'charges:read',
      operationId: 'charges.get',
      summary: 'Get a charge as it is stored',
      description:
        'Reads our record without asking the gateway. A charge that is still processing ends by itself; its event reports the outcome.',
      params: UuidParams,
      response: { http: 200, data: ChargeRecord },
      errors: ['invalid_uuid', 'charge_not_found'],
      examples: { data: CHARGE_EXAMPLE },
      handle: async ({ merchant, params }) =>
        ok('Charge retrieved.', await serializeCharge(app, await requireCharge(app, merchant, params.uuid))),
    }),
  ]
}

function messageOf(status: string): string {
  if (status === 'successful') return 'Charge successful.'
  return status === 'failed' ? 'Charge failed.' : 'Charge is processing.'
}
