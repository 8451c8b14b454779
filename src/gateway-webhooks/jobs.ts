import type { Job } from '../kit/jobs.ts'
import type { PaymentsApp } from '../payments/app.ts'
import { purgeGatewayWebhooks, retryGatewayWebhooks } from './retry.ts'

export function gatewayWebhookJobs(app: PaymentsApp): Job[] {
  return [
    {
      name: 'retry-gateway-webhooks',
      intervalMs: 15_000,
      run: () => retryGatewayWebhooks(app),
    },
    {
      name: 'purge-gateway-webhooks',
      intervalMs: 600_000,
      run: () => purgeGatewayWebhooks(app),
    },
  ]
}
