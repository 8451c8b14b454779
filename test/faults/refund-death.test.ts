// F-01 to F-05 for refunds: the process is killed at each step of one, another process goes on, and the money goes back
// once.

import assert from 'node:assert/strict'
import { after, describe, it } from 'node:test'
import { sql } from '../../src/kit/db.ts'
import { FAILPOINTS, type Failpoint } from '../../src/kit/failpoints.ts'
import { payWith } from '../support/builders.ts'
import { startInstallation } from '../support/installation.ts'
import { eventually } from '../support/process.ts'

const PATH = '/api/v1/refunds'
const BRIEF = { COWRY_GATEWAY_TIMEOUT_MS: '500' }

const installation = await startInstallation({ after })
// Without background work, like all that die here: what is resolved was resolved by the worker that comes later.
const survivor = await installation.startService(BRIEF, 'api')

const selectRefunds = sql<{ status: string; entries: number; events: string[] }>`
select
  r.status,
  (select count(*)::integer from ledger_entries e where e.refund_id = r.id) as entries,
  (select json_agg(v.type order by v.version) from events v where v.resource_id = r.id) as events
from refunds r
where r.payment_id = $1`

interface Death {
  paymentId: string
  /** What both sides had in their books right after. */
  left: { refunds: string[]; executions: number }
  retry(): Promise<{ http: number; uuid: string; status: string; isReplay: boolean }>
}

async function countGiven(paymentId: string): Promise<number> {
  // A boundary: an execution as the provider's API tells it.
  const executions = (await installation.sandbox.executions(paymentId)) as { kind: string }[]
  return executions.filter(({ kind }) => kind === 'refund').length
}

async function dieRefunding(failpoint: Failpoint): Promise<Death> {
  const env = { ...BRIEF, COWRY_FAILPOINTS: `${failpoint}=kill` }
  const [{ uuid }, service] = await Promise.all([
    payWith(survivor.api, 'card_success'),
    installation.startService(env, 'api'),
  ])
  const request = [PATH, { uuid, amount: 100 }, { 'idempotency-key': `refund-${uuid}` }] as const
  await assert.rejects(service.api.post(...request), TypeError)
  assert.deepEqual(await service.ended, { code: null, signal: 'SIGKILL' })
  const refunds = await installation.db.query(selectRefunds, [uuid])
  return {
    paymentId: uuid,
    left: { refunds: refunds.map(({ status }) => status), executions: await countGiven(uuid) },
    async retry() {
      const { http, headers, body } = await survivor.api.post(...request)
      const isReplay = headers.get('idempotent-replayed') === 'true'
      return { http, uuid: body.data?.uuid, status: body.data?.status, isReplay }
    },
  }
}

const POINTS = FAILPOINTS.filter((point) => point.startsWith('refund.'))
const deaths = new Map<Failpoint, Death>()
for (const death of await Promise.all(
  POINTS.map(async (point) => [point, await dieRefunding(point)] as const),
))
  deaths.set(...death)

function deathAt(point: Failpoint): Death {
  const death = deaths.get(point)
  assert.ok(death)
  return death
}

/** What is in both books when nobody has anything left to find out. */
async function endOf({ paymentId }: Death) {
  const [refund, ...others] = await eventually(
    () => installation.db.query(selectRefunds, [paymentId]),
    (rows) => rows.every(({ status }) => status !== 'pending'),
    30_000,
  )
  assert.deepEqual(others, [])
  const { status } = await installation.truthAbout(paymentId)
  return { refund, executions: await countGiven(paymentId), payment: status }
}

const GIVEN_ONCE = {
  refund: { status: 'successful', entries: 1, events: ['refund.pending', 'refund.successful'] },
  executions: 1,
  payment: 'partially_refunded',
}

// A client that retries before the worker is there gets the record as it stands.
const early = await deathAt('refund.after_call').retry()
await installation.startService(BRIEF, 'worker')

describe('a refund whose process was killed', { concurrency: true }, () => {
  it('before the record: nothing is stored, and the retry gives exactly once (F-01)', async () => {
    const death = deathAt('refund.before_record')
    assert.deepEqual(death.left, { refunds: [], executions: 0 })
    const retried = await death.retry()
    assert.deepEqual([retried.http, retried.status, retried.isReplay], [201, 'successful', false])
    assert.deepEqual(await endOf(death), GIVEN_ONCE)
  })

  for (const point of ['refund.after_record', 'refund.after_mark'] as const) {
    it(`at ${point}, before the call: another process submits it, once (F-02)`, async () => {
      const death = deathAt(point)
      assert.deepEqual(death.left, { refunds: ['pending'], executions: 0 })
      assert.deepEqual(await endOf(death), GIVEN_ONCE)
    })
  }

  it('between call and settle: another process asks, and finds it given (F-03, F-04)', async () => {
    const death = deathAt('refund.after_call')
    assert.deepEqual(death.left, { refunds: ['pending'], executions: 1 })
    assert.deepEqual([early.http, early.status, early.isReplay], [201, 'pending', true])
    assert.deepEqual(await endOf(death), GIVEN_ONCE)
  })

  it('after settle and before the answer: the retry answers the same refund (F-05)', async () => {
    const death = deathAt('refund.after_settle')
    assert.deepEqual(death.left, { refunds: ['successful'], executions: 1 })
    const retried = await death.retry()
    assert.deepEqual([retried.http, retried.status, retried.isReplay], [201, 'successful', true])
    assert.deepEqual(await endOf(death), GIVEN_ONCE)
  })

  it('there is no other place where it can be killed', () => {
    const places = ['before_record', 'after_record', 'after_mark', 'after_call', 'after_settle']
    assert.deepEqual(
      POINTS,
      places.map((place) => `refund.${place}`),
    )
  })
})
