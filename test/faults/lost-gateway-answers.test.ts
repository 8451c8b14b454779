// F-28 over real connectors: a gateway that executes and whose answer gets lost is asked, never tried elsewhere and never
// made to execute twice. A thousand answers are lost, a quarter at each provider; the sandbox stands ready as the next
// candidate of every one of them.

import assert from 'node:assert/strict'
import { after, describe, it } from 'node:test'
import type { FakeProvider } from '../../src/gateways/conformance.ts'
import type { Trouble } from '../../src/gateways/fake-server.ts'
import { sql } from '../../src/kit/db.ts'
import type { Api } from '../support/api.ts'
import { chargeBody } from '../support/builders.ts'
import { attemptOf, ofFile, readPayment, startPaying } from '../support/gateways.ts'
import { eventually } from '../support/process.ts'
import { addressOf, merchantAt, PROVIDER_NAMES, PROVIDERS, type ProviderName } from '../support/providers.ts'
import { testService } from '../support/service.ts'

const CALLERS = 16
const DEADLINE_MS = 240_000

/** How 250 answers of each provider get lost: all of them after the provider has acted. */
const LOSSES: [Trouble, number][] = [
  ['cut_off_after_acting', 80],
  ['http_500_after_acting', 60],
  ['hang_after_acting', 30],
  ['garbage', 30],
  ['truncated', 40],
  ['huge_body', 10],
]

const fakes = new Map<ProviderName, FakeProvider>()
for (const name of PROVIDER_NAMES) fakes.set(name, await PROVIDERS[name].start(ofFile({ after })))

const addresses = [...fakes].map(([name, fake]) => addressOf(name, fake))
const service = await testService(
  { after },
  {
    env: Object.assign({ COWRY_GATEWAY_TIMEOUT_MS: '1500', COWRY_RATE_LIMIT: '0' }, ...addresses),
  },
)
const { db } = service

function fakeOf(name: ProviderName): FakeProvider {
  const fake = fakes.get(name)
  assert.ok(fake)
  return fake
}

/** Does the work so often, and the answer to each submission meanwhile gets lost, also when it is made again. */
async function losingAnswers<Result>(name: ProviderName, work: () => Promise<Result>): Promise<Result[]> {
  const { server } = fakeOf(name)
  const results: Result[] = []
  for (const [kind, count] of LOSSES) {
    server.trouble(kind, { on: PROVIDERS[name].submission })
    results.push(...(await repeat(count, work)))
    server.calm()
  }
  return results
}

async function repeat<Result>(count: number, work: () => Promise<Result>): Promise<Result[]> {
  const results: Result[] = []
  let begun = 0
  const caller = async () => {
    while (begun < count) {
      begun += 1
      results.push(await work())
    }
  }
  await Promise.all(Array.from({ length: CALLERS }, caller))
  return results
}

/** A card that was saved by paying once. */
async function savedToken(name: ProviderName, api: Api): Promise<string> {
  const { asks, channel } = PROVIDERS[name]
  const { uuid } = await startPaying(api, asks, channel)
  const { key } = await attemptOf(db, uuid)
  await fakeOf(name).finish(key, { kind: 'pays' })
  const paid = await eventually(
    () => readPayment(api, uuid),
    ({ status }) => status === 'successful',
    30_000,
  )
  return String(paid.paymentMethod.recurringToken)
}

const selectTruth = sql<{ status: string; payments: number }>`
select status, count(*)::integer as payments
from payments
where id = any($1::uuid[])
group by status`

async function awaitSuccess(uuids: string[]): Promise<void> {
  const truth = () => db.query(selectTruth, [uuids])
  const end = await eventually(
    truth,
    (rows) => rows.length === 1 && rows[0]?.status === 'successful',
    DEADLINE_MS,
  ).catch(async () => truth())
  assert.deepEqual(end, [{ status: 'successful', payments: uuids.length }])
}

const selectAttempts = sql<{ key: string; gateway: string; accountId: string }>`
select gateway_key as key, gateway, account_id as "accountId"
from attempts
where payment_id = any($1::uuid[])`

const countCredits = sql<{ credits: number }>`
select count(*)::integer as credits
from ledger_entries
where payment_id = any($1::uuid[]) and kind = 'capture'`

/** Each payment has one attempt, at this provider and account, which was executed and credited once. */
async function countExecutions(name: ProviderName, accountId: string, uuids: string[]): Promise<number> {
  const attempts = await db.query(selectAttempts, [uuids])
  assert.equal(attempts.length, uuids.length, 'nothing was tried a second time')
  for (const attempt of attempts)
    assert.deepEqual([attempt.gateway, attempt.accountId], [name, accountId], 'nor anywhere else')
  assert.deepEqual(await db.query(countCredits, [uuids]), [{ credits: uuids.length }])
  const executions = await Promise.all(attempts.map(({ key }) => fakeOf(name).executions(key)))
  assert.deepEqual(new Set(executions), new Set([1]))
  return executions.reduce((sum, times) => sum + times, 0)
}

describe('a thousand answers that get lost after the gateway has executed (F-28)', () => {
  let executed = 0

  for (const name of ['stripe', 'paystack', 'flutterwave'] as const) {
    it(`end as one execution each: charges of saved cards at ${name}`, async () => {
      const { api, accountId } = await merchantAt(service, name)
      const token = await savedToken(name, api)
      const { amount, currency } = PROVIDERS[name].asks
      const charges = await losingAnswers(name, async () => {
        const answer = await api.post('/api/v1/charges/recurring', chargeBody(token, { amount, currency }))
        assert.equal(answer.http, 201, answer.text)
        return answer.body.data
      })
      for (const { status, statusReason } of charges)
        assert.deepEqual({ status, statusReason }, { status: 'processing', statusReason: 'outcome_unknown' })
      const uuids = charges.map(({ uuid }) => String(uuid))
      await awaitSuccess(uuids)
      executed += await countExecutions(name, accountId, uuids)
    })
  }

  it('end as one execution each: checkouts at pawapay, whose payers get their page all the same', async () => {
    const { api, accountId } = await merchantAt(service, 'pawapay')
    const { asks, channel } = PROVIDERS.pawapay
    const uuids = await losingAnswers('pawapay', async () => (await startPaying(api, asks, channel)).uuid)
    for (const uuid of uuids) {
      const attempt = await eventually(
        () => attemptOf(db, uuid),
        ({ status }) => status === 'awaiting_customer',
        DEADLINE_MS,
      )
      await fakeOf('pawapay').finish(attempt.key, { kind: 'pays' })
    }
    await awaitSuccess(uuids)
    executed += await countExecutions('pawapay', accountId, uuids)
  })

  it('are a thousand executions, and none at the gateway that stood ready', async () => {
    assert.equal(executed, 1_000)
    const atSandbox = sql<{ records: number }>`select count(*)::integer as records from sandbox.records`
    assert.deepEqual(await db.query(atSandbox), [{ records: 0 }])
  })
})
