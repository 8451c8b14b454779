// Refunds under load: many at once over two services, and lost responses at every provider. No payer gets more
// than was paid, and no refund is executed twice.

import assert from 'node:assert/strict'
import { after, describe, it } from 'node:test'
import { sql } from '../../src/kit/db/db.ts'
import type { FakeProvider } from '../gateways/conformance.ts'
import { postUntilFree } from '../support/api.ts'
import { payWith } from '../support/builders.ts'
import { tickingClock } from '../support/fake-clock.ts'
import { attemptOf, fileContext, startPaying } from '../support/gateways.ts'
import { eventually } from '../support/process.ts'
import {
  addressOf,
  newMerchantAt,
  PROVIDER_NAMES,
  PROVIDERS,
  type ProviderName,
} from '../support/providers.ts'
import { HAS_LARGER_FORM, sized } from '../support/scale.ts'
import { testService } from '../support/service.ts'

const PATH = '/api/v1/refunds'
const DEADLINE_MS = 30_000
const REFUNDS = sized({ quick: 30, rest: 100, long: 100 })
// Enough for about half of them.
const PAID = 5 * REFUNDS

const fakes = new Map<ProviderName, FakeProvider>()
for (const name of PROVIDER_NAMES) fakes.set(name, await PROVIDERS[name].start(fileContext({ after })))
const env: Record<string, string> = Object.assign(
  { COWRY_RATE_LIMIT: '0' },
  ...[...fakes].map(([name, fake]) => addressOf(name, fake)),
)
const clock = tickingClock()
const service = await testService({ after }, { env, clock })

const sumOfLedger = sql<{ currency: string; minor: bigint }>`
select currency, sum(amount_minor)::bigint as minor
from postings
group by currency`

interface Refund {
  uuid: string
  status: string
  amount: string
}

async function allRefunds(uuid: string): Promise<Refund[]> {
  const { body } = await service.api.get(`${PATH}?payment=${uuid}&limit=100`)
  return body.data
}

const minorOf = (amounts: readonly { amount: string }[]) =>
  amounts.reduce((sum, { amount }) => sum + BigInt(amount.replace('.', '')), 0n)

describe('many refunds of one payment at once, over two services', () => {
  it(
    'many concurrent refunds never exceed the payment, execute exactly once each, and leave a balanced ledger (F-47)',
    HAS_LARGER_FORM,
    async (t) => {
      // Serves requests only; like the first it has its own pool and cache.
      const { databaseUrl } = service
      const other = await testService(t, { env, clock, role: 'api', databaseUrl })
      const { uuid, reference } = await payWith(service.api, 'card_success', { amount: PAID })
      const key = service.demoKey ?? ''
      const otherApi = other.apiWith(key)
      const refundBody = (n: number) => ({ uuid, refundReference: `part-${n}`, amount: 9.5 + (n % 3) })
      const answers = await Promise.all(
        Array.from({ length: REFUNDS }, (_, n) =>
          postUntilFree(n % 2 === 0 ? service.api : otherApi, PATH, refundBody(n)),
        ),
      )
      const codes = answers.map(({ http, body }) => `${http} ${body.error?.code ?? ''}`)
      const allowed = /^(20[01] |422 refund_exceeds_amount|409 invalid_state)$/
      for (const code of codes) assert.match(code, allowed)
      assert.ok(codes.filter((code) => /^20[01] $/.test(code)).length >= 0.4 * REFUNDS, codes.join())
      assert.ok(codes.includes('422 refund_exceeds_amount'))

      const refunds = await eventually(
        () => {
          // On a busy machine a call may time out; its refund is looked up later.
          clock.advance(1_000)
          return allRefunds(uuid)
        },
        (list) => list.every(({ status }) => status !== 'pending'),
        10 * DEADLINE_MS,
      )
      assert.deepEqual([...new Set(refunds.map(({ status }) => status))], ['successful'])
      const given = minorOf(refunds)
      const paidMinor = 100n * BigInt(PAID)
      assert.ok(given <= paidMinor && given > paidMinor - 950n, `${given} of ${paidMinor} went back`)
      const executions = (await service.api.get(`/api/v1/sandbox/executions?reference=${reference}`)).body
        .data
      const executed = executions.filter(({ kind }: { kind: string }) => kind === 'refund')
      assert.equal(executed.length, refunds.length)
      assert.equal(minorOf(executed), given)
      const { refundedAmount } = (await service.api.get(`/api/v1/checkout/payments/${uuid}`)).body.data
      assert.equal(minorOf([{ amount: refundedAmount }]), given)
      for (const { currency, minor } of await service.db.query(sumOfLedger)) assert.equal(minor, 0n, currency)
    },
  )
})

// Wave refunds only whole payments. Chapa cannot be asked about a refund whose response was lost: a person decides. Their
// own tests cover both.
const ASKABLE = PROVIDER_NAMES.filter((name) => name !== 'wave' && name !== 'chapa')

describe('a refund response that is lost', { concurrency: true }, () => {
  for (const name of ASKABLE) {
    it(`a lost response at ${name}: the refund is pending, found or sent again under its key, and executed once (F-28)`, async () => {
      const fake = fakes.get(name)
      assert.ok(fake?.refunds)
      const { paymentTerms, channel } = PROVIDERS[name]
      const { api } = await newMerchantAt(service, name)
      const { uuid } = await startPaying(api, paymentTerms, channel)
      const { key } = await attemptOf(service.db, uuid)
      await fake.finish(key, { kind: 'pays' })
      const read = async () => (await api.get(`/api/v1/checkout/verify-payment?uuid=${uuid}`)).body.data
      await eventually(read, ({ status }) => status === 'successful', DEADLINE_MS)

      fake.server.injectFault('cut_off_after_acting', { on: /^POST .*refund/, times: 1 })
      const [one, two] = paymentTerms.currency === 'RWF' ? [125, 250] : [1.5, 2.5]
      const first = await api.post(PATH, { uuid, refundReference: 'first', amount: one })
      assert.equal(first.http, 201, first.text)
      assert.deepEqual([first.body.data.status, first.body.data.statusReason], ['pending', 'outcome_unknown'])
      // Another refund of the payment, while the outcome of the first is unknown.
      const second = await api.post(PATH, { uuid, refundReference: 'second', amount: two })
      assert.equal(second.http, 201, second.text)
      for (const { body } of [first, second]) {
        const ended = await eventually(
          async () => {
            clock.advance(1_000)
            return (await api.get(`${PATH}/${body.data.uuid}`)).body.data
          },
          ({ status }) => status !== 'pending',
          DEADLINE_MS,
        )
        assert.equal(ended.status, 'successful')
      }
      const given = paymentTerms.currency === 'RWF' ? [125n, 250n] : [150n, 250n]
      assert.deepEqual([...(await fake.refunds(key))].sort(), given)
    })
  }
})
