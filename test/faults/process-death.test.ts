// F-03, F-04 and F-11: what the table of failpoints does not play. The process is killed in the middle of a call, between a
// decline and its record, and again and again while it recovers; everything ends right, once.

import assert from 'node:assert/strict'
import { after, describe, it } from 'node:test'
import type { Failpoint } from '../../src/kit/failpoints.ts'
import { chargeBody, saveMethod } from '../support/builders.ts'
import { CHARGED_ONCE, type ServiceProcess, startDeployment } from '../support/deployment.ts'
import { eventually } from '../support/process.ts'

const CHARGE = '/api/v1/charges/recurring'
// The lease of a charge is this and two seconds, so that nobody need wait for the usual twelve.
const SHORT_TIMEOUTS = { COWRY_GATEWAY_TIMEOUT_MS: '500' }

const deployment = await startDeployment({ after })
// Without background work, like all that die here: what is resolved was resolved by the service started again.
const survivor = await deployment.startService({}, 'api')
const card = await saveMethod(survivor.api, 'card_success')

interface KilledRequest {
  reference: string
  body: { reference: string }
  /** What both sides had in their books right after. */
  left: { status: string; executions: number; credits: number } | undefined
}

/** The request on a process that is to die over it: the client sees a broken connection and knows nothing. */
async function loseAnswer(service: ServiceProcess, path: string, body: unknown): Promise<void> {
  await assert.rejects(service.api.post(path, body), TypeError)
  assert.deepEqual(await service.ended, { code: null, signal: 'SIGKILL' })
}

async function readState(body: { reference: string }): Promise<KilledRequest> {
  const id = await deployment.idOf(body.reference)
  const snapshot = id === undefined ? undefined : await deployment.snapshotOf(id)
  const left = snapshot && {
    status: snapshot.status,
    executions: snapshot.executions,
    credits: snapshot.credits,
  }
  return { reference: body.reference, body, left }
}

function startKilledAt(failpoint: Failpoint, role: 'api' | 'all' = 'api') {
  return deployment.startService({ ...SHORT_TIMEOUTS, COWRY_FAILPOINTS: `${failpoint}=kill` }, role)
}

async function killWhileCharging(failpoint: Failpoint, token: string): Promise<KilledRequest> {
  const body = chargeBody(token)
  await loseAnswer(await startKilledAt(failpoint), CHARGE, body)
  return readState(body)
}

async function killDuringCall(): Promise<KilledRequest> {
  const body = chargeBody(await saveMethod(survivor.api, 'card_slow_later'))
  const service = await deployment.startService({ COWRY_GATEWAY_TIMEOUT_MS: '2000' }, 'api')
  const lost = loseAnswer(service, CHARGE, body)
  const isExecuted = async () => {
    const id = await deployment.idOf(body.reference)
    return id !== undefined && (await deployment.sandbox.executions(id)).length === 1
  }
  await eventually(isExecuted, Boolean, 10_000)
  process.kill(service.pid, 'SIGKILL')
  await lost
  return readState(body)
}

const RECOVERY_POINTS = ['resolver.after_poll', 'resolver.after_claim'] as const

const [duringCall, declined] = await Promise.all([
  killDuringCall(),
  saveMethod(survivor.api, 'card_declined_later').then((token) =>
    killWhileCharging('charge.after_call', token),
  ),
])

// A client that retries before the service is back gets the record as it stands.
const early = await survivor.api.post(CHARGE, declined.body)

const restarted = await deployment.startService()

async function finalStateAfter(death: KilledRequest) {
  const id = await deployment.idOf(death.reference)
  assert.ok(id, 'it is on disk')
  return deployment.awaitFinal(id)
}

describe('a service that was killed and started again', { concurrency: true }, () => {
  it('killed during the call: the restarted service asks, and finds it executed (F-03)', async () => {
    assert.deepEqual(duringCall.left, { status: 'processing', executions: 1, credits: 0 })
    assert.deepEqual(await finalStateAfter(duringCall), CHARGED_ONCE)
  })

  it('killed between call and settle of a decline: it ends as failed, with its reason and its proof (F-04)', async () => {
    assert.deepEqual(declined.left, { status: 'processing', executions: 0, credits: 0 })
    assert.equal(early.http, 201, early.text)
    assert.equal(early.headers.get('idempotent-replayed'), 'true')
    assert.equal(early.body.data.status, 'processing')
    assert.equal(early.body.data.statusReason, 'outcome_unknown')
    assert.deepEqual(await finalStateAfter(declined), {
      status: 'failed',
      reason: null,
      executions: 0,
      credits: 0,
      events: ['charge.processing', 'charge.failed'],
      attempts: ['declined'],
    })
    const retried = await restarted.api.post(CHARGE, declined.body)
    assert.equal(retried.body.data.failure.code, 'insufficient_funds')
  })
})

it('killed again and again while it recovers: it still ends right, once (F-11)', async () => {
  await restarted.kill('SIGTERM')
  const { reference } = await killWhileCharging('charge.after_record', card)
  const id = await deployment.idOf(reference)
  assert.ok(id)
  for (const failpoint of RECOVERY_POINTS) {
    const recovering = await startKilledAt(failpoint, 'all')
    assert.deepEqual(await recovering.ended, { code: null, signal: 'SIGKILL' })
    assert.equal((await deployment.snapshotOf(id)).status, 'processing')
  }
  // The first of the two deaths came after the call.
  assert.equal((await deployment.snapshotOf(id)).executions, 1)

  await deployment.endLease(id)
  await deployment.startService(SHORT_TIMEOUTS)
  assert.deepEqual(await deployment.awaitFinal(id), CHARGED_ONCE)
})
