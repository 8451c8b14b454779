// Commands without money: endpoints and replays, keys, lists, repeated requests, and requests for records of other
// merchants.

import assert from 'node:assert/strict'
import { type Command, draw, drawPerson, newName } from './command-context.ts'
import type { Sent } from './model.ts'
import { assertPredicted, type CommandContext, type LoggedResponse, sendRequest } from './world.ts'

const ENDPOINTS = '/api/v1/webhooks/endpoints'
// Of twenty that a merchant may have; each costs deliveries.
const MAX_ENDPOINTS = 3

/** Rare events only: deliveries of every payment would be most of the work. */
async function addEndpoint(context: CommandContext): Promise<void> {
  const { shop, world, prng } = context
  if (shop.endpoints.size >= MAX_ENDPOINTS) return changeEndpoint(context)
  const events = [prng.pick(['payment.disputed', 'payment.reversed', 'p2p.overpaid', 'refund.failed'])]
  const answer = await sendRequest(context, 'POST', ENDPOINTS, { url: world.consumer.url, events })
  assertPredicted(context, answer, '201 enabled')
  shop.endpoints.set(answer.body.data.uuid, true)
}

async function changeEndpoint(context: CommandContext): Promise<void> {
  const { shop, prng } = context
  const uuid = draw(context, [...shop.endpoints.keys()])
  if (!uuid) return
  const path = `${ENDPOINTS}/${uuid}`
  if (prng.nextBool(0.3)) {
    shop.endpoints.delete(uuid)
    assertPredicted(context, await sendRequest(context, 'DELETE', path), '200 deleted', ENDPOINT_RESULTS)
    return
  }
  const enabled = prng.nextBool(0.5)
  assertPredicted(
    context,
    await sendRequest(context, 'PATCH', path, { enabled }),
    enabled ? '200 enabled' : '200 disabled',
    ENDPOINT_RESULTS,
  )
  if (shop.endpoints.has(uuid)) shop.endpoints.set(uuid, enabled)
}

const ENDPOINT_RESULTS = ['200 enabled', '200 disabled', '404 webhook_endpoint_not_found']

async function replay(context: CommandContext): Promise<void> {
  const { prng } = context
  const listed = await sendRequest(context, 'GET', `/api/v1/events?limit=20&page=${1 + prng.nextInt(5)}`)
  assertPredicted(context, listed, '200')
  const event = prng.pick<{ id: string }>(listed.body.data)
  if (!event) return
  const path = `/api/v1/events/${event.id}`
  assertPredicted(
    context,
    await sendRequest(context, 'POST', `${path}/replay`, {}, { 'idempotency-key': newName('key') }),
    '201 done',
  )
  assertPredicted(context, await sendRequest(context, 'GET', `${path}/deliveries`), '200')
}

const KEYS = '/api/v1/api-keys'

/** The old key works for a while; from now on the shop uses the new one. */
async function rotateKey(context: CommandContext): Promise<void> {
  const { shop } = context
  const keyId = idOf(shop.key)
  const rotated = await sendRequest(context, 'POST', `${KEYS}/${keyId}/rotate`, { overlapHours: 1 })
  assertPredicted(context, rotated, '201 active')
  shop.key = rotated.body.data.apiKey
  assertPredicted(context, await sendRequest(context, 'POST', `${KEYS}/${keyId}/revoke`, {}), '200 revoked')
}

const idOf = (apiKey: string) => apiKey.split('_')[2]?.slice(0, 12) ?? ''

// The lists; each returns a page with any filter.
const LISTS = [
  '/api/v1/checkout/payments?status=successful',
  '/api/v1/checkout/payments?currency=XOF&sort=createdAt:asc',
  '/api/v1/charges?status=failed',
  '/api/v1/refunds?status=successful',
  '/api/v1/payment-links?usage=multi',
  '/api/v1/p2p/payments?transferStatus=underpaid',
  '/api/v1/customers?search=payer',
  '/api/v1/wallet/transactions?type=refund',
  '/api/v1/wallet/transactions?currency=KES',
  '/api/v1/wallet/balance',
  '/api/v1/misc/gateways',
]

async function readList(context: CommandContext): Promise<void> {
  const path = context.prng.pick(LISTS) ?? '/api/v1/wallet/balance'
  assertPredicted(context, await sendRequest(context, 'GET', path), '200')
}

// Idempotency keys are kept for a day; the references of payments without a limit.
const IDEMPOTENCY_TTL_MS = 24 * 3_600_000

/** Repeats an earlier request: the same record, and nothing new. */
async function repeat(context: CommandContext): Promise<void> {
  const { shop, world, prng } = context
  const now = world.clock.now().getTime()
  const isNamed = ({ path, body }: Sent) => !path.endsWith('/refunds') || 'refundReference' in body
  const sent = draw(context, shop.sent, (one) =>
    one.key === undefined ? isNamed(one) : now - one.at < IDEMPOTENCY_TTL_MS,
  )
  if (!sent) return
  const headers: Record<string, string> = sent.key === undefined ? {} : { 'idempotency-key': sent.key }
  const isOther = prng.nextBool(0.15)
  const body = isOther ? { ...(sent.body as object), ...changedField(context, sent.path) } : sent.body
  const answer = await sendRequest(context, 'POST', sent.path, body, headers)
  if (isOther) return assertConflict(context, answer, sent.key !== undefined)
  assert.equal(answer.http, 201, answer.text)
  assert.equal(answer.body.data.uuid, sent.uuid, 'the same request is the same record')
  assert.equal(answer.headers.get('idempotent-replayed'), 'true')
  assertPredicted(context, { ...answer, body: {} }, '201')
}

/** A change that makes it another request. */
function changedField(context: CommandContext, path: string): object {
  if (path.endsWith('/refunds')) return { reason: 'Another' }
  if (path.endsWith('/payment-links')) return { title: 'Another' }
  return path.endsWith('/customers')
    ? { ...drawPerson(context), phone: '+254712345678' }
    : { description: 'Another' }
}

function assertConflict(context: CommandContext, answer: LoggedResponse, hasKey: boolean): void {
  assertPredicted(context, answer, hasKey ? '422 idempotency_key_reused' : '409 duplicate_reference')
}

/** Another shop requests a record of this one. */
async function readForeignRecords(context: CommandContext): Promise<void> {
  const { shop, world } = context
  const other = world.shops.find((one) => one !== shop)
  const payment = draw(context, other?.payments ?? [])
  if (!payment) return
  const { uuid } = payment
  const read = await sendRequest(context, 'GET', `/api/v1/checkout/payments/${uuid}`)
  assertPredicted(context, read, '404 payment_not_found')
  assertPredicted(
    context,
    await sendRequest(context, 'POST', '/api/v1/refunds', { uuid }),
    '404 payment_not_found',
  )
}

export const SIDE_COMMANDS: readonly Command[] = [
  { name: 'add-endpoint', weight: 0.5, run: addEndpoint },
  { name: 'change-endpoint', weight: 0.5, run: changeEndpoint },
  { name: 'replay-event', weight: 0.5, run: replay },
  { name: 'rotate-key', weight: 0.2, run: rotateKey, only: 'sequential' },
  { name: 'read-list', weight: 4, run: readList },
  { name: 'repeat', weight: 5, run: repeat },
  { name: 'read-foreign-records', weight: 1, run: readForeignRecords },
]
