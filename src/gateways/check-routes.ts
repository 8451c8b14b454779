// The operators' endpoint for the checks of the gateways. It asks the providers, so it takes as long as they do.

import { Type } from 'typebox'
import { singlePage } from '../core/page.ts'
import { listed, type OperatorRoute, operatorRoute } from '../kit/http/route.ts'
import { Enum, Nullable, namedObject, text } from '../kit/http/schema.ts'
import { checkGateways, type GatewayChecksApp } from './checks.ts'
import { CHECK_EXAMPLE } from './examples.ts'
import { CHECK_RESULTS } from './gateway.ts'

const CheckRecord = namedObject(
  'GatewayCheck',
  {
    gateway: Nullable(
      Type.String({ examples: ['paystack'] }),
      'The gateway that it is about. Null: about all gateways.',
    ),
    name: text('What was checked.', 'credentials'),
    result: Enum(CHECK_RESULTS, {
      description: 'by_hand: the provider cannot be asked about this setting, so a person must look at it.',
    }),
    detail: text('What was found or what to do, in a sentence.'),
  },
  { description: 'The result of one check.' },
)

export function gatewayCheckRoutes(app: GatewayChecksApp): OperatorRoute[] {
  return [
    operatorRoute({
      method: 'GET',
      path: '/admin/v1/gateway-checks',
      operationId: 'gateways.check',
      summary: 'Check the gateways: credentials, and the settings at the providers that payments need',
      description: 'Asks every provider, so it takes as long as they do. `cowry doctor` shows the same.',
      response: { http: 200, data: CheckRecord, list: true },
      errors: [],
      examples: { data: CHECK_EXAMPLE },
      handle: async () => {
        const checks = await checkGateways(app)
        return listed('Checks of the gateways.', checks, singlePage(checks.length))
      },
    }),
  ]
}
