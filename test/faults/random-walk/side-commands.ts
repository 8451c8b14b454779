// What goes on beside the money: endpoints and replays, keys, lists, requests that come a second time, and strangers who
// ask for what is not theirs.

import assert from 'node:assert/strict'
import { type Command, draw, drawPerson, newName } from './turns.ts'
import { type Asked, ask, judge, type Turn } from './world.ts'

const ENDPOINTS = '/api/v1/webhooks/endpoints'
// Of twenty that a merchant may have; each costs deliveries.
const MOST_ENDPOINTS = 3

/** Rare events only: what is delivered at every payment would be most of the work. */
async function addEndpoint(turn: Turn): Promise<void> {
  const { shop, world, chance } = turn
  if (shop.endpoints.size >= MOST_ENDPOINTS) return changeEndpoint(turn)
  const events = [chance.pick(['payment.disputed', 'payment.reversed', 'p2p.overpaid', 'refund.failed'])]
  const answer = await ask(turn, 'POST', ENDPOINTS, { url: world.consumer.url, events })
  judge(turn, answer, '201 enabled')
  shop.endpoints.set(answer.body.data.uuid, true)
}

async function changeEndpoint(turn: Turn): Promise<void> {
  const { shop, chance } = turn
  const uuid = draw(turn, [...shop.endpoints.keys()])
  if (!uuid) return
  const path = `${ENDPOINTS}/${uuid}`
  if (chance.happens(0.3)) {
    shop.endpoints.delete(uuid)
    judge(turn, await ask(turn, 'DELETE', path), '200 deleted', GONE)
    return
  }
  const enabled = chance.happens(0.5)
  judge(turn, await ask(turn, 'PATCH', path, { enabled }), enabled ? '200 enabled' : '200 disabled', GONE)
  if (shop.endpoints.has(uuid)) shop.endpoints.set(uuid, enabled)
}

const GONE = ['200 enabled', '200 disabled', '404 webhook_endpoint_not_found']

async function replay(turn: Turn): Promise<void> {
  const { chance } = turn
  const listed = await ask(turn, 'GET', `/api/v1/events?limit=20&page=${1 + chance.below(5)}`)
  judge(turn, listed, '200')
  const event = chance.pick<{ id: string }>(listed.body.data)
  if (!event) return
  const path = `/api/v1/events/${event.id}`
  judge(
    turn,
    await ask(turn, 'POST', `${path}/replay`, {}, { 'idempotency-key': newName('key') }),
    '201 done',
  )
  judge(turn, await ask(turn, 'GET', `${path}/deliveries`), '200')
}

const KEYS = '/api/v1/api-keys'

/** The old key works for a while; from now on the shop uses the new one. */
async function rotateKey(turn: Turn): Promise<void> {
  const { shop } = turn
  const keyId = idOf(shop.key)
  const rotated = await ask(turn, 'POST', `${KEYS}/${keyId}/rotate`, { overlapHours: 1 })
  judge(turn, rotated, '201 active')
  shop.key = rotated.body.data.apiKey
  judge(turn, await ask(turn, 'POST', `${KEYS}/${keyId}/revoke`, {}), '200 revoked')
}

const idOf = (apiKey: string) => apiKey.split('_')[2]?.slice(0, 12) ?? ''

// What a list is asked for; each answers a page, whatever it is narrowed to.
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

async function readList(turn: Turn): Promise<void> {
  const path = turn.chance.pick(LISTS) ?? '/api/v1/wallet/balance'
  judge(turn, await ask(turn, 'GET', path), '200')
}

// Keys are promised for a day; the references of payments for ever.
const KEYS_KEPT_MS = 24 * 3_600_000

/** A request that was answered before comes again: the same record, and nothing new. */
async function repeat(turn: Turn): Promise<void> {
  const { shop, world, chance } = turn
  const now = world.clock.now().getTime()
  const sent = draw(turn, shop.sent, ({ key, path, at }) =>
    path.endsWith('/refunds') || key !== undefined ? key !== undefined && now - at < KEYS_KEPT_MS : true,
  )
  if (!sent) return
  const headers: Record<string, string> = sent.key === undefined ? {} : { 'idempotency-key': sent.key }
  const isOther = chance.happens(0.15)
  const body = isOther ? { ...(sent.body as object), ...otherThan(turn, sent.path) } : sent.body
  const answer = await ask(turn, 'POST', sent.path, body, headers)
  if (isOther) return requireConflict(turn, answer, sent.key !== undefined)
  assert.equal(answer.http, 201, answer.text)
  assert.equal(answer.body.data.uuid, sent.uuid, 'the same request is the same record')
  assert.equal(answer.headers.get('idempotent-replayed'), 'true')
  judge(turn, { ...answer, body: {} }, '201')
}

/** What makes it another request. */
function otherThan(turn: Turn, path: string): object {
  if (path.endsWith('/refunds')) return { reason: 'Another' }
  if (path.endsWith('/payment-links')) return { title: 'Another' }
  return path.endsWith('/customers')
    ? { ...drawPerson(turn), phone: '+254712345678' }
    : { description: 'Another' }
}

function requireConflict(turn: Turn, answer: Asked, hasKey: boolean): void {
  judge(turn, answer, hasKey ? '422 idempotency_key_reused' : '409 duplicate_reference')
}

/** Another shop asks for what is this one's. */
async function pry(turn: Turn): Promise<void> {
  const { shop, world } = turn
  const other = world.shops.find((one) => one !== shop)
  const payment = draw(turn, other?.payments ?? [])
  if (!payment) return
  const { uuid } = payment
  const read = await ask(turn, 'GET', `/api/v1/checkout/payments/${uuid}`)
  judge(turn, read, '404 payment_not_found')
  judge(turn, await ask(turn, 'POST', '/api/v1/refunds', { uuid }), '404 payment_not_found')
}

export const SIDE_COMMANDS: readonly Command[] = [
  { name: 'add-endpoint', weight: 0.5, run: addEndpoint },
  { name: 'change-endpoint', weight: 0.5, run: changeEndpoint },
  { name: 'replay-event', weight: 0.5, run: replay },
  { name: 'rotate-key', weight: 0.2, run: rotateKey, only: 'calm' },
  { name: 'read-list', weight: 4, run: readList },
  { name: 'repeat', weight: 5, run: repeat },
  { name: 'pry', weight: 1, run: pry },
]
