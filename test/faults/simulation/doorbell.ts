// The webhooks of a provider on their way to whichever process takes them: lost, late, repeated, and sometimes about
// something that never happened. A provider rings again until it hears a 2xx, a few times.

import type { Machine } from './machine.ts'
import type { Sim } from './sim.ts'
import type { Switchboard } from './switchboard.ts'

const RINGS = 6

export function ringAtMachines(
  sim: Sim,
  switchboard: Switchboard,
  machines: readonly Machine[],
  gateway: string,
  key: string,
): void {
  const { chance, scheduler } = sim
  const eventId = `evt-${Math.floor(chance.fraction() * 2 ** 40)}`
  const claims = sim.suffers('hookLies') ? chance.pick(['succeeded', 'declined']) : 'changed'
  const rawBody = Buffer.from(JSON.stringify({ key, eventId, claims }))
  const ring = async (left: number): Promise<void> => {
    const reply = await switchboard.call(chance.pick(machines), 'webhook', async ({ hooks }) => {
      const route = hooks.find(({ path }) => path === '/hooks/{gateway}')
      return route?.handle({ params: { gateway }, headers: {}, rawBody })
    })
    const isTaken = reply.kind === 'answered' && reply.value?.http === 200
    if (isTaken || left === 0) return
    scheduler.after(chance.between(500, 8_000), 'webhook again', () => void ring(left - 1))
  }
  const copies = sim.suffers('hookTwice') ? 2 : 1
  for (let copy = 0; copy < copies; copy += 1) {
    const delayMs = sim.suffers('hookLate') ? chance.between(0, 30_000) : chance.between(0, 200)
    if (!sim.isCutOff() && !sim.suffers('hookLost'))
      scheduler.after(delayMs, `${gateway} rings`, () => void ring(RINGS))
  }
}
