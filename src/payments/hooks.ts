// Inbound webhooks. A webhook is a doorbell: its signature is checked, it is noted, answered, and then the gateway is
// asked; what its body claims is never believed.

import type { HookRoute } from '../kit/route.ts'
import type { PaymentsApp } from './app.ts'
import { ringDoorbell } from './attempt-queries.ts'

export function gatewayHooks(app: PaymentsApp): HookRoute[] {
  return [
    {
      path: '/hooks/{gateway}',
      handle: async ({ params, headers, rawBody }) => {
        const gateway = app.gateways.all().find((one) => one.name === params.gateway)
        if (!gateway) return { http: 404 }
        const reading = gateway.readWebhook(headers, rawBody)
        if (reading.kind === 'forged') {
          app.log.warn('a webhook was forged', { gateway: gateway.name })
          return { http: 401 }
        }
        if (reading.kind === 'about') {
          await ringDoorbell(app.db, gateway.name, reading.eventId, reading.key, app.clock.now())
        }
        return { http: 200 }
      },
    },
  ]
}
