// A provider's webhooks on their way to any process: lost, late, repeated, and sometimes with a wrong status. A
// provider retries a few times until it gets a 2xx.

import type { Dispatcher } from './dispatcher.ts'
import type { Machine } from './machine.ts'
import type { Sim } from './sim.ts'

const MAX_WEBHOOK_RETRIES = 6

export function deliverWebhook(
  sim: Sim,
  dispatcher: Dispatcher,
  machines: readonly Machine[],
  gateway: string,
  key: string,
): void {
  const { prng, scheduler } = sim
  const eventId = `evt-${Math.floor(prng.fraction() * 2 ** 40)}`
  const claims = sim.injects('webhookMisleading') ? prng.pick(['succeeded', 'declined']) : 'changed'
  const rawBody = Buffer.from(JSON.stringify({ key, eventId, claims }))
  const send = async (left: number): Promise<void> => {
    const reply = await dispatcher.call(prng.pick(machines), 'webhook', async ({ webhookRoutes }) => {
      const route = webhookRoutes.find(({ path }) => path === '/hooks/{gateway}')
      return route?.handle({ method: 'POST', query: {}, params: { gateway }, headers: {}, rawBody })
    })
    const isTaken = reply.kind === 'answered' && reply.value?.http === 200
    if (isTaken || left === 0) return
    scheduler.after(prng.between(500, 8_000), 'webhook again', () => void send(left - 1))
  }
  const copies = sim.injects('webhookDuplicated') ? 2 : 1
  for (let copy = 0; copy < copies; copy += 1) {
    const delayMs = sim.injects('webhookDelayed') ? prng.between(0, 30_000) : prng.between(0, 200)
    if (!sim.isPartitioned() && !sim.injects('webhookLost'))
      scheduler.after(delayMs, `webhook of ${gateway}`, () => void send(MAX_WEBHOOK_RETRIES))
  }
}
