// The real sandbox provider behind the server of the fakes, so that all faults can be injected.

import { randomUUID } from 'node:crypto'
import type { TestContext } from 'node:test'
import { sign } from '../../../src/gateways/sandbox/webhooks.ts'
import type { RecordBody, WebhookBody } from '../../../src/gateways/sandbox/wire.ts'
import type { CheckoutEnding, FakeProvider, RefundBehavior, Webhook } from '../conformance.ts'
import { type FakeReply, type FakeRequest, startFakeServer } from '../fake-server.ts'
import { makeAttempt, type Rig, SECRET, startRig, WEBHOOK_SECRET } from './rig.ts'

const CANCELS = 'cancel'
const UNKNOWN_CARD = 'unknown card'

export const SANDBOX_DECLINES = [
  { how: 'card_declined', code: 'do_not_honor', on: 'checkout' },
  { how: 'card_insufficient_funds', code: 'insufficient_funds', on: 'checkout' },
  { how: CANCELS, code: 'customer_cancelled', on: 'checkout' },
  { how: 'card_declined_later', code: 'insufficient_funds', on: 'charge' },
  { how: UNKNOWN_CARD, code: 'invalid_card', on: 'charge' },
] as const

/** The card for each refund behavior. */
const REFUND_CARDS: Readonly<Record<RefundBehavior, string>> = {
  succeeds: 'card_success',
  waits: 'card_refund_pending',
  fails: 'card_refund_declined',
}

export async function startFakeSandbox(t: TestContext): Promise<FakeProvider> {
  const cleanups: (() => Promise<void>)[] = []
  t.after(async () => {
    for (const cleanup of cleanups.reverse()) await cleanup()
  })
  const rig = await startRig(cleanups)
  let card = REFUND_CARDS.succeeds
  const misreports = new Map<string, Partial<RecordBody>>()
  const server = await startFakeServer(t, async (request) =>
    misreport(await forward(rig, request), misreports),
  )

  return {
    server,
    async finish(key, ending) {
      if (ending.kind === 'pays') misreports.set(key, toMisreport(ending))
      await simulate(rig, key, ending, card)
    },
    async executions(key) {
      const submitted = server.requests.find(({ headers }) => headers['idempotency-key'] === key)
      if (!submitted) return 0
      const executions = await rig.gateway.executions(JSON.parse(submitted.text).order)
      return executions.filter(({ kind }) => kind !== 'refund').length
    },
    setRefundBehavior(behavior) {
      card = REFUND_CARDS[behavior]
    },
    async refunds(attemptKey) {
      const submitted = server.requests.find(({ headers }) => headers['idempotency-key'] === attemptKey)
      if (!submitted) return []
      const executions = await rig.gateway.executions(JSON.parse(submitted.text).order)
      const given = executions.filter(({ kind }) => kind === 'refund')
      return given.map(({ amount }) => BigInt(amount.replace('.', '')))
    },
    savedCredential(behavior) {
      if (behavior === 'waits') return null
      if (behavior === 'approves') return tokenOf('card_success')
      if (behavior === 'wants_customer') return tokenOf('card_auth_required_later')
      return tokenOf(behavior.declines === UNKNOWN_CARD ? 'card_never_saved' : behavior.declines)
    },
    webhook: (key, event = 'checkout.succeeded') => buildWebhook(rig, key, event),
    async dispute(key, status) {
      await rig.gateway.dispute(key, status)
      return buildWebhook(rig, key, 'checkout.disputed')
    },
  }
}

function tokenOf(instrument: string): string {
  return `tok_${randomUUID().replaceAll('-', '')}.${instrument}`
}

async function forward(rig: Rig, { method, path, query, headers, text }: FakeRequest): Promise<FakeReply> {
  const { authorization = '', 'idempotency-key': key } = headers
  const answer = await rig.http.request({
    // A boundary: the connector uses no other methods.
    method: method as 'GET' | 'POST',
    url: `${rig.url}${path}${query.size > 0 ? `?${query}` : ''}`,
    headers: { authorization, ...(key !== undefined && { 'idempotency-key': key }) },
    body: text || undefined,
  })
  if (answer.kind !== 'answered') throw new Error(answer.error)
  return { http: answer.status, body: answer.body }
}

/** Changes the provider's record in the response as the test requires. */
function misreport(reply: FakeReply, misreports: ReadonlyMap<string, Partial<RecordBody>>): FakeReply {
  const record = JSON.parse(String(reply.body))
  const changes = misreports.get(record.key)
  return changes ? { ...reply, body: { ...record, ...changes } } : reply
}

function toMisreport({ minor, currency, key }: CheckoutEnding & { kind: 'pays' }): Partial<RecordBody> {
  return {
    ...(minor !== undefined && { paid: String(minor) }),
    ...(currency !== undefined && { currency }),
    ...(key !== undefined && { key }),
  }
}

async function simulate(rig: Rig, key: string, ending: CheckoutEnding, card: string): Promise<void> {
  if (ending.kind === 'pays') await rig.gateway.simulatePayer(key, card)
  else if (ending.kind === 'waits') await submitPayForm(rig, key, 'card_3ds')
  else if (ending.how === CANCELS) await rig.gateway.cancel(makeAttempt({ key }), null)
  else await rig.gateway.simulatePayer(key, ending.how)
}

/** Presses Pay on the hosted page. */
async function submitPayForm(rig: Rig, key: string, instrument: string): Promise<void> {
  const headers = { authorization: `Bearer ${SECRET}` }
  const answer = await rig.http.request({ method: 'GET', url: `${rig.url}/v1/payments/${key}`, headers })
  if (answer.kind !== 'answered') throw new Error(answer.error)
  await rig.http.request({
    method: 'POST',
    url: JSON.parse(answer.body.toString()).next.url,
    headers: { 'content-type': 'application/x-www-form-urlencoded' },
    body: new URLSearchParams({ action: 'pay', instrument }).toString(),
  })
}

function buildWebhook(rig: Rig, key: string, event: string): Webhook {
  const createdAt = rig.clock.now()
  const webhook: WebhookBody = {
    id: randomUUID(),
    type: event,
    key,
    order: randomUUID(),
    createdAt: createdAt.toISOString(),
  }
  const body = Buffer.from(JSON.stringify(webhook))
  return { headers: { 'cowry-sandbox-signature': sign(WEBHOOK_SECRET, createdAt, body) }, body }
}
