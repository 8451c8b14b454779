// The operators' endpoint for the checks of the gateways. It asks the providers, so it takes as long as they do.

import { Type } from 'typebox'
import { singlePage } from '../core/page.ts'
import { listed, type OperatorRoute, operatorRoute } from '../kit/http/route.ts'
import { Enum, Nullable } from '../kit/http/schema.ts'
import { checkGateways, type GatewayChecksApp } from './checks.ts'
import { CHECK_RESULTS } from './gateway.ts'

const CheckRecord = Type.Object({
  /** Null: about all gateways. */
  gateway: Nullable(Type.String()),
  name: Type.String(),
  /** by_hand: the provider cannot be asked about this setting, so a person must look at it. */
  result: Enum(CHECK_RESULTS),
  detail: Type.String(),
})

export function gatewayCheckRoutes(app: GatewayChecksApp): OperatorRoute[] {
  return [
    operatorRoute({
      method: 'GET',
      path: '/admin/v1/gateway-checks',
      summary: 'Check the gateways: credentials, and the settings at the providers that payments need',
      response: { http: 200, data: CheckRecord, list: true },
      errors: [],
      handle: async () => {
        const checks = await checkGateways(app)
        return listed('Checks of the gateways.', checks, singlePage(checks.length))
      },
    }),
  ]
}
