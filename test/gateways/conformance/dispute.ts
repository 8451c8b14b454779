// Disputes: reported by a status check, and by a webhook that names our key.

import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { inspect } from 'node:util'
import type { Attempt, DisputeReport, Outcome, ParsedWebhook } from '../../../src/gateways/gateway.ts'
import { CONCURRENCY, type Rig, startRig } from './rig.ts'
import type { Subject, Webhook } from './subject.ts'

export function testDispute(subject: Subject): void {
  describe('a dispute', { concurrency: CONCURRENCY }, () => {
    it('is reported with its amount, and with the same id until it ends', async (t) => {
      for (const end of ['won', 'lost'] as const) {
        const rig = await startRig(t, subject)
        const { attempt, paid } = await rig.payNew()
        assert.equal(await findLatestDispute(rig, attempt, paid), undefined, 'nothing is disputed at first')
        await dispute(rig, attempt, 'open')
        const opened = await findLatestDispute(rig, attempt, paid)
        assert.ok(opened)
        // Only some providers name a deadline, and only while the dispute is open.
        const { respondBy, reference, ...rest } = opened
        if (respondBy) assert.ok(respondBy.getTime() > 0, `a deadline: ${respondBy}`)
        assert.deepEqual(rest, { status: 'open', amount: subject.amount })
        await dispute(rig, attempt, end)
        assert.deepEqual(await findLatestDispute(rig, attempt, paid), { ...rest, reference, status: end })
      }
    })

    it('is reported beside the next one, which has its own id', async (t) => {
      const rig = await startRig(t, subject)
      const { attempt, paid } = await rig.payNew()
      for (const status of ['open', 'won', 'open'] as const) await dispute(rig, attempt, status)
      const reports = await listDisputes(rig, attempt, paid)
      assert.deepEqual(
        reports.map(({ status }) => status),
        ['open', 'won'],
      )
      assert.equal(new Set(reports.map(({ reference }) => reference)).size, 2)
    })

    it('sends a webhook about our key, so that succeeded payments are checked too', async (t) => {
      const rig = await startRig(t, subject)
      const { attempt } = await rig.payNew()
      const hooks = [await dispute(rig, attempt, 'open'), await dispute(rig, attempt, 'lost')]
      const readings = hooks.map((hook) => rig.receive(hook))
      for (const reading of readings) assert.equal(await keyOf(rig, reading), attempt.key)
      const ids = readings.map((reading) => ('eventId' in reading ? reading.eventId : ''))
      assert.equal(new Set(ids).size, 2, 'each event has an id of its own')
    })

    it('stays unknown if the request about it gets no response', async (t) => {
      const rig = await startRig(t, subject)
      const { attempt, paid } = await rig.payNew()
      await dispute(rig, attempt, 'open')
      const withShortTimeout = rig.open({ timeoutMs: 200 })
      await rig.provider.server.close()
      const outcome = await withShortTimeout.verify({ ...attempt, isPaid: true }, paid.gatewayReference)
      assert.equal(outcome.kind, 'unknown', inspect(outcome))
    })
  })
}

async function dispute(rig: Rig, { key }: Attempt, status: DisputeReport['status']): Promise<Webhook> {
  assert.ok(rig.provider.dispute, 'the fake of a gateway with disputes can simulate them')
  return rig.provider.dispute(key, status)
}

async function findLatestDispute(
  rig: Rig,
  attempt: Attempt,
  paid: Extract<Outcome, { kind: 'succeeded' }>,
): Promise<DisputeReport | undefined> {
  return (await listDisputes(rig, attempt, paid))[0]
}

async function listDisputes(
  { gateway }: Rig,
  attempt: Attempt,
  { gatewayReference }: Extract<Outcome, { kind: 'succeeded' }>,
): Promise<readonly DisputeReport[]> {
  const outcome = await gateway.verify({ ...attempt, isPaid: true }, gatewayReference)
  assert.ok(outcome.kind === 'succeeded', inspect(outcome))
  return outcome.disputes ?? []
}

async function keyOf({ gateway }: Rig, reading: ParsedWebhook): Promise<string | null> {
  if (reading.kind === 'payment') {
    assert.equal(reading.isDispute, true)
    return reading.key ?? null
  }
  assert.ok(reading.kind === 'dispute', inspect(reading))
  const found = await gateway.findKey?.(reading.gatewayPaymentId)
  assert.ok(found?.kind === 'key', inspect(found))
  return found.key
}
