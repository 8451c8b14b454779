// Webhooks of real connectors, at the address of the instance and of merchants. The next poll of each payment is
// an hour away, so that only a webhook can trigger the status check.

import assert from 'node:assert/strict'
import { randomInt, randomUUID } from 'node:crypto'
import { Writable } from 'node:stream'
import { after, describe, it } from 'node:test'
import { sql } from '../../src/kit/db/db.ts'
import { createLog } from '../../src/kit/observability/log.ts'
import { FAKE_SECRET_KEY, signWebhook, startFakePaystack } from '../gateways/paystack/fake.ts'
import { UNKNOWN_UUID } from '../support/assertions.ts'
import {
  attemptOf,
  deliver,
  fileContext,
  postponePolls,
  readPayment,
  startPaying,
  watchStatements,
} from '../support/gateways.ts'
import { eventually } from '../support/process.ts'
import { HAS_LARGER_FORM, sized } from '../support/scale.ts'
import { testService } from '../support/service.ts'

const OTHER_KEY = 'sk_test_ffffffffffffffffffffffffffffffffffffffff'
const NGN = { amount: 1250.5, currency: 'NGN' }
const HOUR_MS = 3_600_000

const paystack = await startFakePaystack(fileContext({ after }))
const lines: Record<string, unknown>[] = []
const log = createLog(
  'warn',
  new Writable({
    write(chunk, _encoding, done) {
      lines.push(JSON.parse(chunk))
      done()
    },
  }),
)
const service = await testService(
  { after },
  {
    env: { GATEWAY_PAYSTACK_SECRET_KEY: FAKE_SECRET_KEY, GATEWAY_PAYSTACK_BASE_URL: paystack.server.url },
    log,
  },
)
const { api, admin, db } = service

async function merchantWith(secretKey: string) {
  const merchant = await service.newMerchant()
  const path = `/admin/v1/merchants/${merchant.uuid}/gateways/paystack`
  const put = async (key: string): Promise<string> => {
    const body = JSON.stringify({ credentials: { secretKey: key } })
    const answer = await admin.send('PUT', `${path}?probe=false`, {
      body,
      headers: { 'content-type': 'application/json' },
    })
    assert.equal(answer.http, 200, answer.text)
    return answer.body.data.uuid
  }
  const accountId = await put(secretKey)
  return {
    ...merchant,
    accountId,
    put,
    remove: () => admin.send('DELETE', path),
    hooks: `/hooks/paystack/${merchant.uuid}`,
  }
}

/** A payment that was paid at the provider, with its next poll in an hour. */
async function paidWithoutWebhook(by = api) {
  const { uuid } = await startPaying(by, NGN)
  await postponePolls(db, uuid)
  const { key } = await attemptOf(db, uuid)
  await paystack.finish(key, { kind: 'pays' })
  return { uuid, key }
}

const isDueNow = async (uuid: string) => {
  const { dueAt } = await attemptOf(db, uuid)
  return dueAt === null || dueAt.getTime() < Date.now() + HOUR_MS / 2
}

const successful = (uuid: string, by = api) =>
  eventually(
    () => readPayment(by, uuid),
    ({ status }) => status === 'successful',
    15_000,
  )

interface EventRow {
  accountId: string | null
  eventId: string
  isHandled: boolean
  isDue: boolean
}

const selectEvents = sql<EventRow>`
select
  account_id as "accountId", event_id as "eventId", handled_at is not null as "isHandled", due_at is not null as "isDue"
from gateway_webhooks
where gateway_key = $1
order by received_at`

const eventsAbout = (key: string) => db.query(selectEvents, [key])

const signed = (key: string, secretKey: string, id = randomInt(1e9)) =>
  signWebhook({ event: 'charge.success', data: { id, reference: key } }, secretKey)

describe('webhooks at a merchant’s address', () => {
  it('wakes the attempts of the merchant that owns the webhook address', async () => {
    const merchant = await merchantWith(FAKE_SECRET_KEY)
    const { uuid, key } = await paidWithoutWebhook(merchant.api)
    assert.equal((await deliver(api, merchant.hooks, await paystack.webhook(key))).http, 200)
    await successful(uuid, merchant.api)
    const [event] = await eventsAbout(key)
    assert.deepEqual([event?.accountId, event?.isHandled, event?.isDue], [merchant.accountId, true, false])
  })

  it('rejects a webhook signed with the account of another merchant or of the instance as forged', async () => {
    const [one, other] = [await merchantWith(FAKE_SECRET_KEY), await merchantWith(OTHER_KEY)]
    const { uuid, key } = await paidWithoutWebhook(one.api)
    assert.equal((await deliver(api, other.hooks, signed(key, FAKE_SECRET_KEY))).http, 401)
    assert.equal((await deliver(api, one.hooks, signed(key, OTHER_KEY))).http, 401)
    assert.equal((await deliver(api, '/hooks/paystack', signed(key, OTHER_KEY))).http, 401)
    assert.deepEqual(await eventsAbout(key), [])
    assert.equal(await isDueNow(uuid), false)
  })

  it('wakes no attempt of another merchant, even with a valid signature', async () => {
    const [one, other] = [await merchantWith(FAKE_SECRET_KEY), await merchantWith(OTHER_KEY)]
    const theirs = await paidWithoutWebhook(one.api)
    const ours = await paidWithoutWebhook()
    for (const { uuid, key } of [theirs, ours]) {
      assert.equal((await deliver(api, other.hooks, signed(key, OTHER_KEY))).http, 200)
      const [event] = await eventsAbout(key)
      assert.deepEqual([event?.accountId, event?.isHandled], [other.accountId, false])
      assert.equal(await isDueNow(uuid), false)
    }
    // The address of the instance does not reach attempts of a merchant's account either.
    assert.equal((await deliver(api, '/hooks/paystack', signed(theirs.key, FAKE_SECRET_KEY))).http, 200)
    assert.equal(await isDueNow(theirs.uuid), false)
    assert.equal((await deliver(api, one.hooks, signed(theirs.key, FAKE_SECRET_KEY))).http, 200)
    await successful(theirs.uuid, one.api)
  })

  it('accepts webhooks of an account that was replaced', async () => {
    const merchant = await merchantWith(FAKE_SECRET_KEY)
    const { uuid, key } = await paidWithoutWebhook(merchant.api)
    await merchant.remove()
    await merchant.put(OTHER_KEY)
    assert.equal((await deliver(api, merchant.hooks, signed(key, FAKE_SECRET_KEY))).http, 200)
    await successful(uuid, merchant.api)
    assert.equal((await deliver(api, merchant.hooks, signed(key, OTHER_KEY))).http, 200)
  })

  it('answers 404 to a webhook for an unknown merchant, account or gateway', async () => {
    const { uuid } = await service.newMerchant()
    const webhook = signed(randomUUID(), FAKE_SECRET_KEY)
    for (const path of [
      `/hooks/paystack/${uuid}`,
      `/hooks/paystack/${UNKNOWN_UUID}`,
      '/hooks/paystack/unknown',
      `/hooks/paystack/${UNKNOWN_UUID.toUpperCase()}`,
      `/hooks/unknown/${uuid}`,
      '/hooks/paystack/%00',
    ])
      assert.equal((await deliver(api, path, webhook)).http, 404, path)
  })
})

it('accepts a webhook whose key cannot be ours, and does not store it', async () => {
  const key = `order-${randomUUID()}`
  assert.equal((await deliver(api, '/hooks/paystack', signed(key, FAKE_SECRET_KEY))).http, 200)
  assert.deepEqual(await eventsAbout(key), [])
})

describe('a repeated webhook', () => {
  it('stores a repeated webhook once, also when fifty arrive at once (F-42)', async () => {
    const { uuid, key } = await paidWithoutWebhook()
    const webhook = await paystack.webhook(key)
    const answers = await Promise.all(
      Array.from({ length: 50 }, () => deliver(api, '/hooks/paystack', webhook)),
    )
    assert.deepEqual(new Set(answers.map(({ http }) => http)), new Set([200]))
    await successful(uuid)
    assert.equal((await eventsAbout(key)).length, 1)
    assert.equal(await paystack.executions(key), 1)
  })

  it('stores nothing of a webhook’s body', async () => {
    const { key } = await paidWithoutWebhook()
    const webhook = signWebhook({
      event: 'charge.success',
      data: {
        id: 77,
        reference: key,
        customer: { email: 'canary@example.com' },
        authorization: { bin: '408408' },
      },
    })
    assert.equal((await deliver(api, '/hooks/paystack', webhook)).http, 200)
    const rows = await db.query(sql<{ row: string }>`select e::text as row from gateway_webhooks e`)
    assert.ok(!JSON.stringify(rows).includes('canary'))
    assert.ok(!JSON.stringify(rows).includes('408408'))
  })
})

describe('a flood of forged webhooks (F-45)', () => {
  const OURS = /gateway_(?:accounts|events)/
  const FORGED = sized({ quick: 150, rest: 500, long: 500 })
  const flood = async (count: number, path: () => string) => {
    const answers: number[] = []
    const worker = async () => {
      while (answers.length < count)
        answers.push((await deliver(api, path(), signed(randomUUID(), OTHER_KEY))).http)
    }
    await Promise.all(Array.from({ length: 20 }, worker))
    return new Set(answers)
  }

  it(
    'limits forged webhooks to no extra statements and three log lines a minute',
    HAS_LARGER_FORM,
    async (t) => {
      const merchant = await merchantWith(FAKE_SECRET_KEY)
      const statements = watchStatements(t, db, OURS)
      const before = lines.length
      const startedAt = performance.now()
      // The cache refreshes the accounts in use every two and a half seconds, with or without a flood.
      const refreshes = () => 1 + Math.ceil((performance.now() - startedAt) / 2500)
      assert.deepEqual(await flood(FORGED, () => '/hooks/paystack'), new Set([401]))
      const renewals = statements.filter((text) => text.includes('gateway_accounts'))
      assert.ok(renewals.length <= refreshes(), `${renewals.length} renewals`)
      assert.equal(statements.length, renewals.length)
      assert.deepEqual(await flood(FORGED, () => merchant.hooks), new Set([401]))
      assert.deepEqual(await flood(FORGED, () => `/hooks/paystack/${UNKNOWN_UUID}`), new Set([404]))
      // One lookup for the merchant and one for the unknown merchant, repeated during the flood.
      assert.ok(statements.length <= 3 * refreshes(), `${statements.length} statements`)
      const loggedLines = lines.slice(before).filter(({ key }) => key === 'gateway_webhook.signature_invalid')
      assert.ok(loggedLines.length <= 3, `${loggedLines.length} lines`)
      assert.ok(
        lines.some(
          ({ key, gateway }) => key === 'gateway_webhook.signature_invalid' && gateway === 'paystack',
        ),
      )
    },
  )

  it('shares the lookups of webhooks to addresses without an account', HAS_LARGER_FORM, async (t) => {
    const statements = watchStatements(t, db, OURS)
    assert.deepEqual(await flood(FORGED, () => `/hooks/paystack/${randomUUID()}`), new Set([404]))
    assert.ok(statements.length <= FORGED / 2, `${statements.length} statements for ${FORGED} addresses`)
  })

  it('accepts valid webhooks during a flood of forged ones', HAS_LARGER_FORM, async () => {
    const { uuid, key } = await paidWithoutWebhook()
    const pressing = flood(FORGED, () => '/hooks/paystack')
    assert.equal((await deliver(api, '/hooks/paystack', await paystack.webhook(key))).http, 200)
    await pressing
    await successful(uuid)
  })
})
