// F-03, F-04 and F-11: cases that the failpoint table does not cover. The process is killed during a call, between a
// decline and its record, and repeatedly during recovery; each operation completes exactly once. F-12 and F-90: a process
// exits by itself or on a signal, under load.

import assert from 'node:assert/strict'
import { join } from 'node:path'
import { after, describe, it } from 'node:test'
import type { Failpoint } from '../../src/kit/failpoints.ts'
import { chargeBody, saveMethod } from '../support/builders.ts'
import { assertOnlyAcknowledged, chargeUntilRefused } from '../support/charge-load.ts'
import {
  CHARGED_ONCE,
  type PaymentSnapshot,
  SANDBOX_SECRET,
  type ServiceProcess,
  startDeployment,
} from '../support/deployment.ts'
import { eventually, ROOT } from '../support/process.ts'
import { FORM, LARGER_FORM_ONLY } from '../support/scale.ts'
import { startHangingProcess } from './failpoints/hanging.ts'

const CHARGE = '/api/v1/charges/recurring'
// A charge's lease is this plus two seconds, so that the tests do not wait for the usual twelve.
const SHORT_TIMEOUTS = { COWRY_GATEWAY_TIMEOUT_MS: '500' }

// Ends before the deployment, which drops the database.
const dyingEnds: (() => Promise<void>)[] = []
after(async () => {
  for (const end of dyingEnds) await end()
})
const deployment = await startDeployment({ after })
// Without background jobs, like all processes that die here: the restarted service does all the recovery.
const preload = join(ROOT, 'test/support/throw-on-signal.ts')
const survivor = await deployment.startService({ NODE_OPTIONS: `--import=${preload}` }, 'api')
const card = await saveMethod(survivor.api, 'card_success')

interface KilledRequest {
  reference: string
  body: { reference: string }
  /** The records of both sides right after the death. */
  left: { status: string; executions: number; credits: number } | undefined
}

/** Sends the request to a process that will die: the client sees a broken connection and does not know the outcome. */
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

const killedAt = (failpoint: Failpoint) => ({ ...SHORT_TIMEOUTS, COWRY_FAILPOINTS: `${failpoint}=kill` })

async function killWhileCharging(failpoint: Failpoint, token: string): Promise<KilledRequest> {
  const body = chargeBody(token)
  await loseAnswer(await deployment.startService(killedAt(failpoint), 'api'), CHARGE, body)
  return readState(body)
}

/** One process is killed during the call of a charge, and while a decline is not recorded yet. */
async function killDuringTwoCharges(): Promise<{ duringCall: KilledRequest; declined: KilledRequest }> {
  const [called, declined] = [
    chargeBody(await saveMethod(survivor.api, 'card_slow_later')),
    chargeBody(await saveMethod(survivor.api, 'card_declined_later')),
  ]
  const dying = await startHangingProcess(
    { after: (end) => void dyingEnds.push(end) },
    {
      databaseUrl: deployment.databaseUrl,
      role: 'api',
      env: {
        COWRY_GATEWAY_TIMEOUT_MS: '2000',
        COWRY_SANDBOX_URL: deployment.sandbox.url,
        COWRY_SANDBOX_SECRET: SANDBOX_SECRET,
      },
      points: ['charge.after_call'],
    },
  )
  const lost = [assert.rejects(dying.api.post(CHARGE, declined), TypeError)]
  await dying.awaitReached(['charge.after_call'])
  lost.push(assert.rejects(dying.api.post(CHARGE, called), TypeError))
  const isExecuted = async () => {
    const id = await deployment.idOf(called.reference)
    return id !== undefined && (await deployment.sandbox.executions(id)).length === 1
  }
  await eventually(isExecuted, Boolean, 10_000)
  await dying.kill()
  await Promise.all(lost)
  return { duringCall: await readState(called), declined: await readState(declined) }
}

const RECOVERY_POINTS = ['resolver.after_poll', 'resolver.after_claim'] as const

/** Each process that recovers the charge is killed too. */
async function killDuringRecovery() {
  const death = await killWhileCharging('charge.after_record', card)
  const id = await deployment.idOf(death.reference)
  assert.ok(id)
  const left: PaymentSnapshot[] = []
  for (const failpoint of RECOVERY_POINTS) {
    assert.deepEqual(await deployment.runService(killedAt(failpoint), 'all'), {
      code: null,
      signal: 'SIGKILL',
    })
    left.push(await deployment.snapshotOf(id))
  }
  await deployment.endLease(id)
  return { id, left }
}

// In the quick form failpoints.test.ts alone kills a process that recovers a charge, once at each of these points.
const recovered = FORM === 'quick' ? undefined : await killDuringRecovery()
const { duringCall, declined } = await killDuringTwoCharges()

// A client that retries before the service is back gets the record as it is.
const early = await survivor.api.post(CHARGE, declined.body)

const restarted = await deployment.startService()

async function finalStateAfter(death: KilledRequest) {
  const id = await deployment.idOf(death.reference)
  assert.ok(id, 'the payment was stored')
  return deployment.awaitFinal(id)
}

describe('a service that was killed and restarted', { concurrency: true }, () => {
  it('a restart after a kill during the call checks the status, and finds the charge executed (F-03)', async () => {
    assert.deepEqual(duringCall.left, { status: 'processing', executions: 1, credits: 0 })
    assert.deepEqual(await finalStateAfter(duringCall), CHARGED_ONCE)
  })

  it('a decline that was not recorded before a kill ends as failed, with its reason and its proof (F-04)', async () => {
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

  it(
    'a charge completes exactly once when the service is killed repeatedly during recovery (F-11)',
    LARGER_FORM_ONLY,
    async () => {
      assert.ok(recovered)
      assert.deepEqual(
        recovered.left.map(({ status }) => status),
        ['processing', 'processing'],
      )
      // The first of the two kills came after the call.
      assert.equal(recovered.left.at(-1)?.executions, 1)
      assert.deepEqual(await deployment.awaitFinal(recovered.id), CHARGED_ONCE)
      // The larger form runs this test alone, and at the end of the file no outcome may be unknown.
      await Promise.all([duringCall, declined].map(finalStateAfter))
    },
  )
})

describe('a process that ends under load', () => {
  async function endUnderLoad(service: ServiceProcess, signal: NodeJS.Signals) {
    const load = chargeUntilRefused(service.api, card)
    await eventually(load.acknowledged, ({ length }) => length >= 20, 20_000)
    const ended = await service.kill(signal)
    await load.ended
    await assertOnlyAcknowledged(deployment.db, load)
    return ended
  }

  it('SIGTERM under load completes what was accepted, stores nothing else, and exits with 0 (F-90)', async () => {
    assert.deepEqual(await endUnderLoad(restarted, 'SIGTERM'), { code: 0, signal: null })
  })

  it('an uncaught error under load is logged, accepted requests complete, and the process exits with 1 (F-12)', async () => {
    assert.deepEqual(await endUnderLoad(survivor, 'SIGUSR2'), { code: 1, signal: null })
    assert.match(survivor.errors(), /"process\.uncaught_exception".*a test threw this/)
  })
})
