// F-28 over real connectors: a gateway executes and its response is lost. We check the status, never fail over and
// never execute twice. A thousand responses are lost, a quarter at each provider; the sandbox is the next candidate for
// each payment.

import assert from 'node:assert/strict'
import { after, describe, it } from 'node:test'
import { sql } from '../../src/kit/db/db.ts'
import type { FakeProvider } from '../gateways/conformance.ts'
import type { Fault } from '../gateways/fake-server.ts'
import { chargeBody } from '../support/builders.ts'
import { attemptOf, fileContext, readPayment, startPaying } from '../support/gateways.ts'
import { eventually } from '../support/process.ts'
import {
  addressOf,
  type MerchantAt,
  newMerchantAt,
  PROVIDERS,
  type ProviderName,
  saveCard,
  VAULT_ENV,
} from '../support/providers.ts'
import { sized } from '../support/scale.ts'
import { testService } from '../support/service.ts'

const DEADLINE_MS = 120_000

// Fewer than the five lost responses that open an account's circuit breaker, after which nothing would be sent.
const PER_MERCHANT = 4
const MERCHANTS_AT_ONCE = 4

/** How the responses of each provider are lost: always after the provider has executed. */
const LOSSES = (
  [
    ['cut_off_after_acting', 80],
    ['http_500_after_acting', 60],
    ['hang_after_acting', 30],
    ['garbage', 30],
    ['truncated', 40],
    ['huge_body', 10],
  ] satisfies [Fault, number][]
).map(([fault, count]): [Fault, number] => [
  fault,
  sized({ quick: Math.ceil(count / 20), rest: count / 5, long: count }),
])

const OF_EACH = LOSSES.reduce((sum, [, count]) => sum + count, 0)

// Not Wave: the page of a lost response cannot be paid, so the next candidate is tried.
const NAMES: readonly ProviderName[] = ['stripe', 'paystack', 'flutterwave', 'pawapay']

const fakes = new Map<ProviderName, FakeProvider>()
for (const name of NAMES) fakes.set(name, await PROVIDERS[name].start(fileContext({ after })))

const addresses = [...fakes].map(([name, fake]) => addressOf(name, fake))
const env: Record<string, string> = Object.assign(
  { ...VAULT_ENV, COWRY_GATEWAY_TIMEOUT_MS: '1500', COWRY_RATE_LIMIT: '0' },
  ...addresses,
)
// Serves requests only: no status check runs until the worker starts.
const service = await testService({ after }, { env, role: 'api' })
const { db } = service

function fakeOf(name: ProviderName): FakeProvider {
  const fake = fakes.get(name)
  assert.ok(fake)
  return fake
}

/** Prepares a merchant before the fault. The function that it returns submits one payment and returns its id. */
type Begin = (merchant: MerchantAt) => Promise<() => Promise<string>>

/** Creates this many merchants; each submits its payments at once, and every response is lost. */
async function loseAnswers(name: ProviderName, begin: Begin): Promise<string[]> {
  const { server } = fakeOf(name)
  const uuids: string[] = []
  for (const [kind, count] of LOSSES) {
    const sizes = Array.from({ length: Math.ceil(count / PER_MERCHANT) }, (_, index) =>
      Math.min(PER_MERCHANT, count - index * PER_MERCHANT),
    )
    server.injectFault(kind, { on: PROVIDERS[name].submission })
    const visitor = async () => {
      for (let size = sizes.pop(); size !== undefined; size = sizes.pop()) {
        const submit = await begin(await newMerchantAt(service, name))
        uuids.push(...(await Promise.all(Array.from({ length: size }, submit))))
      }
    }
    await Promise.all(Array.from({ length: MERCHANTS_AT_ONCE }, visitor))
    server.clearFaults()
  }
  return uuids
}

const selectStatuses = sql<{ status: string; payments: number }>`
select status, count(*)::integer as payments
from payments
where id = any($1::uuid[])
group by status`

async function awaitSuccess(uuids: string[]): Promise<void> {
  const readStatuses = () => db.query(selectStatuses, [uuids])
  const end = await eventually(
    readStatuses,
    (rows) => rows.length === 1 && rows[0]?.status === 'successful',
    DEADLINE_MS,
  ).catch(async () => readStatuses())
  assert.deepEqual(end, [{ status: 'successful', payments: uuids.length }])
}

const selectAttempts = sql<{ key: string; gateway: string }>`
select gateway_key as key, gateway
from attempts
where payment_id = any($1::uuid[])`

const countCredits = sql<{ credits: number }>`
select count(*)::integer as credits
from ledger_entries
where payment_id = any($1::uuid[]) and kind = 'capture'`

/** Each payment has one attempt, at this provider, which was executed and credited once. */
async function countExecutions(name: ProviderName, uuids: string[]): Promise<number> {
  const attempts = await db.query(selectAttempts, [uuids])
  assert.equal(attempts.length, uuids.length, 'no payment has a second attempt')
  assert.deepEqual(new Set(attempts.map(({ gateway }) => gateway)), new Set([name]), 'nor at another gateway')
  assert.deepEqual(await db.query(countCredits, [uuids]), [{ credits: uuids.length }])
  const executions = await Promise.all(attempts.map(({ key }) => fakeOf(name).executions(key)))
  assert.deepEqual(new Set(executions), new Set([1]))
  return executions.reduce((sum, times) => sum + times, 0)
}

describe(`${OF_EACH * NAMES.length} responses that are lost after the gateway has executed (F-28)`, () => {
  const lost = new Map<ProviderName, string[]>()

  for (const name of ['stripe', 'paystack', 'flutterwave'] as const) {
    it(`lost responses leave ${OF_EACH} charges of saved cards at ${name} unknown`, async () => {
      const { amount, currency } = PROVIDERS[name].paymentTerms
      const uuids = await loseAnswers(name, async (merchant) => {
        const credential = await fakeOf(name).savedCredential?.('approves')
        assert.ok(credential)
        const token = await saveCard(db, name, merchant, credential)
        return async () => {
          const body = chargeBody(token, { amount, currency })
          const answer = await merchant.api.post('/api/v1/charges/recurring', body)
          const { uuid, status, statusReason } = answer.body.data
          assert.deepEqual([answer.http, status, statusReason], [201, 'processing', 'outcome_unknown'])
          return String(uuid)
        }
      })
      assert.equal(uuids.length, OF_EACH)
      lost.set(name, uuids)
    })
  }

  it(`lost responses leave ${OF_EACH} checkouts at pawapay unknown, whose payers are prompted`, async () => {
    const { paymentTerms, channel } = PROVIDERS.pawapay
    const uuids = await loseAnswers('pawapay', async ({ api }) => async () => {
      const { uuid } = await startPaying(api, paymentTerms, channel)
      assert.equal((await readPayment(api, uuid)).statusReason, 'outcome_unknown')
      return uuid
    })
    assert.equal(uuids.length, OF_EACH)
    lost.set('pawapay', uuids)
  })

  it('lost responses end as exactly one execution each, and none at the next candidate', async (t) => {
    await testService(t, { env, databaseUrl: service.databaseUrl, role: 'worker' })
    for (const uuid of lost.get('pawapay') ?? []) {
      const attempt = await eventually(
        () => attemptOf(db, uuid),
        ({ status }) => status === 'awaiting_customer',
        DEADLINE_MS,
      )
      await fakeOf('pawapay').finish(attempt.key, { kind: 'pays' })
    }
    await awaitSuccess([...lost.values()].flat())
    let executions = 0
    for (const [name, uuids] of lost) executions += await countExecutions(name, uuids)
    assert.equal(executions, OF_EACH * NAMES.length)
    const atSandbox = sql<{ records: number }>`select count(*)::integer as records from sandbox.records`
    assert.deepEqual(await db.query(atSandbox), [{ records: 0 }])
  })
})
