// Webhooks of providers about a merchant that is moved, or was moved, to another cell: each is stored or refused with a status
// at which the provider sends it again, and wakes the attempt where the merchant works. The provider sends no webhooks of its
// own here, and the next poll of each payment is an hour away.

import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { after, describe, it } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { insertMove } from '../../src/cells/moves/move-queries.ts'
import { gatewayWebhookRoutes } from '../../src/gateway-webhooks/receive.ts'
import { retryGatewayWebhooks } from '../../src/gateway-webhooks/retry.ts'
import { fixedGateways } from '../../src/gateways/registry.ts'
import { serveSandbox } from '../../src/gateways/sandbox/provider/serve.ts'
import { currentCell, inCellOf, routedDb, runInCell } from '../../src/kit/cells/cells.ts'
import { systemClock } from '../../src/kit/clock.ts'
import { type Db, DbUnavailable, sql } from '../../src/kit/db/db.ts'
import { NO_FAILPOINTS } from '../../src/kit/failpoints.ts'
import { createLog } from '../../src/kit/observability/log.ts'
import { systemRandom } from '../../src/kit/random.ts'
import type { PaymentsApp } from '../../src/payments/app.ts'
import { wakeRefunds } from '../../src/refunds/advance.ts'
import { sandboxWebhookSecretOf } from '../../src/secrets/secrets.ts'
import { createApi } from '../support/api.ts'
import { initiateBody } from '../support/builders.ts'
import { dataOf } from '../support/cases.ts'
import { plainAddress } from '../support/cells.ts'
import { eventually, tempFolder } from '../support/process.ts'
import { testService } from '../support/service.ts'

const SECRET = 'the-secret-of-a-provider-without-webhooks'
const sandbox = await serveSandbox({
  ...{ host: '127.0.0.1', port: 0, secret: SECRET, webhookSecret: sandboxWebhookSecretOf(SECRET) },
  dataDir: await tempFolder({ after }, 'sandbox'),
  clock: systemClock,
  random: systemRandom(systemClock),
  log: createLog('silent'),
})
/** What happens at a step of the move. */
let atStep: (name: string) => Promise<void> = async () => undefined
const service = await testService(
  { after },
  {
    ...{ cells: 2, cellAddress: plainAddress({ after }), isOwn: true },
    env: { COWRY_SANDBOX_URL: sandbox.url, COWRY_SANDBOX_SECRET: SECRET },
    failpoints: { ...NO_FAILPOINTS, hit: (name) => atStep(name) },
  },
)
after(() => sandbox.close())

const { admin, cells } = service
const anonymous = service.apiWith(undefined)
const provider = createApi(sandbox.url, { authorization: `Bearer ${SECRET}` })
const WITHIN_MS = 120_000
const FORM = { 'content-type': 'application/x-www-form-urlencoded' }

/** Webhooks that name only the provider's id, which no connector of this service can send yet. */
const db = routedDb(cells)
const gateway = {
  name: 'sandbox',
  parseWebhook: ({ rawBody }: { rawBody: Buffer }) => JSON.parse(rawBody.toString()),
}
// A boundary: the path of a webhook uses only these parts.
const app = {
  ...{ db, cells, clock: systemClock, failpoints: NO_FAILPOINTS },
  gateways: {
    ...fixedGateways([gateway as never]),
    findWebhookGateways: async () => [{ gateway, accountId: null }],
  },
  wakeRefunds: (wake: Parameters<typeof wakeRefunds>[1]) => wakeRefunds({ db, clock: systemClock }, wake),
} as unknown as PaymentsApp
const [ofInstance, ofMerchant] = gatewayWebhookRoutes(app)

const withoutCellOne: Pick<Db, 'query'> = {
  query: (...query) =>
    currentCell() === 1 ? Promise.reject(new DbUnavailable(new Error('down'))) : db.query(...query),
}
const [whileCellIsDown] = gatewayWebhookRoutes({ ...app, db: { ...db, ...withoutCellOne } })

const REQUEST = { method: 'POST' as const, query: {}, headers: {} }

async function send(
  reference: string,
  { scope, eventId = randomUUID(), to }: { scope?: string; eventId?: string; to?: typeof ofInstance } = {},
) {
  const rawBody = Buffer.from(JSON.stringify({ kind: 'payment', gatewayReference: reference, eventId }))
  const params = { gateway: 'sandbox', ...(scope && { scope }) }
  return (to ?? (scope ? ofMerchant : ofInstance))?.handle({ ...REQUEST, rawBody, params })
}

const postpone = sql<{ key: string }>`
update attempts
set due_at = now() + interval '1 hour', gateway_reference = $2
where payment_id = $1
returning gateway_key as key`

const selectAttempt = sql<{ key: string; isDue: boolean }>`
select gateway_key as key, due_at < now() + interval '1 minute' as "isDue"
from attempts
where payment_id = $1`

async function newShop() {
  const { uuid } = dataOf(await admin.post('/admin/v1/merchants', { name: 'Moved', cell: 'main' }))
  const { apiKey } = dataOf(
    await admin.post(`/admin/v1/merchants/${uuid}/keys`, { name: 'x', scopes: ['*'] }),
  )
  return { uuid: String(uuid), api: service.apiWith(apiKey) }
}

type Shop = Awaited<ReturnType<typeof newShop>>

/** A payment that the provider has executed without a webhook. */
async function newPaid({ api }: Shop, reference: string | null, cell = 0) {
  const { uuid, checkoutUrl } = dataOf(await api.post('/api/v1/checkout/initiate-payment', initiateBody()))
  const pressed = await anonymous.postText(`${new URL(checkoutUrl).pathname}/attempts`, 'channel=card', FORM)
  assert.equal(pressed.http, 303)
  const [attempt] = await cells.open(cell).query(postpone, [uuid, reference])
  assert.ok(attempt)
  const path = `/v1/payments/${attempt.key}/simulate`
  assert.equal((await provider.post(path, { instrument: 'card_success' })).http, 200)
  return { uuid: String(uuid), key: attempt.key }
}

const move = ({ uuid }: Shop, toCell: number, keepSeconds = 600) =>
  insertMove(cells.open(0), { merchantId: uuid, toCell, keepSeconds }, new Date())
const isIn = ({ uuid }: Shop, cell: number) =>
  eventually(
    () => cells.of(uuid),
    (found) => found === cell,
    WITHIN_MS,
  )
const isPaid = ({ api }: Shop, payment: string) =>
  eventually(
    async () => dataOf(await api.get(`/api/v1/checkout/payments/${payment}`)).status,
    (status) => status === 'successful',
    20_000,
  )
const newReference = () => `ref-${randomUUID()}`

const isEnded = async (shop: Shop): Promise<void> => {
  await eventually(
    async () => dataOf(await admin.get(`/admin/v1/merchants/${shop.uuid}/move`)).step,
    (step) => step === 'done',
    WITHIN_MS,
  )
}

const insertWebhook = sql<unknown>`
insert into gateway_webhooks (gateway, event_id, gateway_key, received_at, due_at)
values ('sandbox', $1, $1, now(), now() + interval '1 hour')`

const selectWebhook = sql<{ isHandled: boolean }>`
select handled_at is not null as "isHandled"
from gateway_webhooks
where coalesce(gateway_reference, gateway_key) = $1`

/** The job of the service may retry it, too. */
const isHandled = (cell: number, name: string) =>
  eventually(
    () => cells.open(cell).query(selectWebhook, [name]),
    ([webhook]) => webhook?.isHandled === true,
    WITHIN_MS,
  )

async function attemptIn(cell: Db, payment: string) {
  const [attempt] = await cell.query(selectAttempt, [payment])
  assert.ok(attempt)
  return attempt
}

describe('a webhook that names only the id of the provider', () => {
  it('wakes the attempt in the new cell while the old one still has its copy', async () => {
    const shop = await newShop()
    const reference = newReference()
    const { uuid } = await newPaid(shop, reference)
    await move(shop, 1)
    await isIn(shop, 1)
    assert.equal((await attemptIn(cells.open(1), uuid)).isDue, false)
    assert.deepEqual(await send(reference), { http: 200 })
    await isPaid(shop, uuid)
  })

  it('waits for the switch during which it arrives, and wakes the attempt in the new cell', async () => {
    const shop = await newShop()
    const reference = newReference()
    const { uuid } = await newPaid(shop, reference)
    const sent: ReturnType<typeof send>[] = []
    const eventId = randomUUID()
    atStep = async (name) => {
      if (name === 'move.after_close')
        for (let copies = 0; copies < 3; copies += 1) sent.push(send(reference, { eventId }))
    }
    await move(shop, 1)
    await isIn(shop, 1)
    assert.ok(sent.length > 0)
    for (const answer of await Promise.all(sent)) assert.deepEqual(answer, { http: 200 })
    await isPaid(shop, uuid)
    atStep = async () => undefined
  })

  it('wakes the attempt in the old cell while the new one has a part of the copy', async () => {
    const shop = await newShop()
    await move(shop, 1, 1)
    await isEnded(shop)
    const reference = newReference()
    const { uuid } = await newPaid(shop, reference, 1)
    // A row without due work is copied before the switch.
    await cells.open(1).script(`update attempts set due_at = null where payment_id = '${uuid}'`)
    const sent: ReturnType<typeof send>[] = []
    atStep = async (name) => {
      if (name === 'move.after_copy') sent.push(send(reference))
    }
    await move(shop, 0)
    await isIn(shop, 0)
    atStep = async () => undefined
    assert.deepEqual(await Promise.all(sent), [{ http: 200 }])
    await isPaid(shop, uuid)
  })
})

describe('a webhook that names only the id of the provider, while a cell does not answer', () => {
  it('fails, so that the provider sends it again, and is kept in no cell', async () => {
    const reference = newReference()
    await assert.rejects(send(reference, { to: whileCellIsDown }), DbUnavailable)
    for (const cell of [0, 1]) assert.deepEqual(await cells.open(cell).query(selectWebhook, [reference]), [])
  })

  it('wakes the attempt if a cell that answers has it', async () => {
    const shop = await newShop()
    const reference = newReference()
    const { uuid } = await newPaid(shop, reference)
    assert.deepEqual(await send(reference, { to: whileCellIsDown }), { http: 200 })
    await isPaid(shop, uuid)
  })
})

describe('a webhook that was stored before its attempt was known', () => {
  const retryIn = async (cell: number) => {
    await cells
      .open(cell)
      .script("update gateway_webhooks set due_at = now() - interval '1 second' where handled_at is null")
    await runInCell(cell, () => retryGatewayWebhooks(app))
  }

  it('wakes the attempt in the cell to which its merchant was moved meanwhile', async () => {
    const shop = await newShop()
    const reference = newReference()
    const { uuid } = await newPaid(shop, null)
    assert.deepEqual(await send(reference, { scope: shop.uuid }), { http: 200 })
    await move(shop, 1)
    await isIn(shop, 1)
    await inCellOf(cells, shop.uuid, () => db.query(postpone, [uuid, reference]))
    await retryIn(0)
    await isPaid(shop, uuid)
    await isHandled(0, reference)
  })

  it('is not taken for handled by a copy of the attempt', async () => {
    const shop = await newShop()
    const { uuid, key } = await newPaid(shop, newReference())
    await move(shop, 1)
    await isIn(shop, 1)
    await cells.open(0).query(insertWebhook, [key])
    await retryIn(0)
    await isPaid(shop, uuid)
    await isHandled(0, key)
  })

  it('wakes the attempt if it is retried during the switch', async () => {
    const shop = await newShop()
    const { uuid, key } = await newPaid(shop, newReference())
    await cells.open(0).query(insertWebhook, [key])
    const retried: Promise<void>[] = []
    atStep = async (name) => {
      if (name !== 'move.after_close') return
      retried.push(retryIn(0))
      // The statement waits for the switch, or finds it closed.
      await delay(100)
    }
    await move(shop, 1)
    await isIn(shop, 1)
    atStep = async () => undefined
    assert.ok(retried.length > 0)
    await Promise.all(retried)
    await isPaid(shop, uuid)
  })
})
