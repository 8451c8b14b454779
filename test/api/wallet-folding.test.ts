import assert from 'node:assert/strict'
import { after, it } from 'node:test'
import { sql } from '../../src/kit/db/db.ts'
import type { Api } from '../support/api.ts'
import { chargeBody, payWith, saveMethod } from '../support/builders.ts'
import { tickingClock } from '../support/fake-clock.ts'
import { eventually } from '../support/process.ts'
import { testService } from '../support/service.ts'

const clock = tickingClock()
const service = await testService({ after }, { clock, env: { COWRY_RATE_LIMIT: '0' } })

async function balance(api: Api, currency: string) {
  const answer = await api.get(`/api/v1/wallet/balance?currency=${currency}`)
  assert.equal(answer.http, 200, answer.text)
  return answer.body.data
}

const countUnfolded = sql<{ count: bigint }>`select count(*) from balance_deltas where merchant_id = $1`

async function unfolded(merchantId: string): Promise<bigint> {
  const [row] = await service.db.query(countUnfolded, [merchantId])
  return row?.count ?? 0n
}

const sumPostings = sql<{ account: string; currency: string; minor: bigint }>`
  select account, currency, sum(amount_minor)::bigint as minor
  from postings
  where merchant_id = $1 and account in ('available', 'pending')
  group by account, currency
  order by account, currency`

it('shows the same balance while the background job folds postings', async () => {
  const { api, uuid } = await service.newMerchant()
  const token = await saveMethod(api, 'card_success', { amount: 100 })
  for (let n = 0; n < 5; n += 1)
    await api.post('/api/v1/charges/recurring', chargeBody(token, { amount: 10 }))
  const seen = new Set<string>()
  const read = async () => {
    seen.add((await balance(api, 'KES')).pendingBalance)
    return unfolded(uuid)
  }
  await eventually(read, (left) => left === 0n, 15_000)
  seen.add((await balance(api, 'KES')).pendingBalance)
  assert.deepEqual([...seen], ['150.00'])
})

it('never decreases or exceeds the charged sum while charges and folding run in parallel', async () => {
  const { api, uuid } = await service.newMerchant()
  const token = await saveMethod(api, 'card_success', { amount: 1 })
  let charging = true
  const readings: number[] = []
  const reader = (async () => {
    while (charging) readings.push(Number((await balance(api, 'KES')).pendingBalance))
  })()
  for (let round = 0; round < 8; round += 1) {
    const charges = Array.from({ length: 10 }, () => chargeBody(token, { amount: 1 }))
    const answers = await Promise.all(charges.map((body) => api.post('/api/v1/charges/recurring', body)))
    assert.ok(answers.every(({ body }) => body.data.status === 'successful'))
  }
  charging = false
  await reader
  assert.deepEqual(
    readings,
    readings.toSorted((a, b) => a - b),
  )
  assert.equal((await balance(api, 'KES')).pendingBalance, '81.00')
  await eventually(
    () => unfolded(uuid),
    (left) => left === 0n,
    15_000,
  )
  assert.equal((await balance(api, 'KES')).pendingBalance, '81.00')
})

it('moves money from pending to available a day after its collection, and always equals the postings', async () => {
  const { api, uuid } = await service.newMerchant()
  await payWith(api, 'card_success', { amount: 100, currency: 'GHS' })
  await payWith(api, 'transfer_success', { amount: 20.25, currency: 'GHS' })
  await payWith(api, 'card_success', { amount: 5000, currency: 'XOF', country: 'SN' })
  clock.advance(23 * 3_600_000)
  await payWith(api, 'mobile_success', { amount: 3, currency: 'GHS' })
  clock.advance(2 * 3_600_000)

  const settled = await eventually(
    () => balance(api, 'GHS'),
    ({ availableBalance }) => availableBalance !== '0.00',
    20_000,
  )
  assert.deepEqual([settled.availableBalance, settled.pendingBalance], ['120.25', '3.00'])
  const francs = await balance(api, 'XOF')
  assert.deepEqual([francs.availableBalance, francs.pendingBalance], ['5000.00', '0.00'])
  assert.deepEqual(
    (await service.db.query(sumPostings, [uuid])).map((row) => ({ ...row, minor: Number(row.minor) })),
    [
      { account: 'available', currency: 'GHS', minor: 12_025 },
      { account: 'available', currency: 'XOF', minor: 5_000 },
      { account: 'pending', currency: 'GHS', minor: 300 },
      { account: 'pending', currency: 'XOF', minor: 0 },
    ],
  )
})
