// Real connectors with fake providers: a service that is configured with some of them, and helpers that read its
// attempts.

import assert from 'node:assert/strict'
import { randomInt } from 'node:crypto'
import type { after, TestContext } from 'node:test'
import { type Db, type Statement, sql } from '../../src/kit/db/db.ts'
import type { Api, ApiResponse } from './api.ts'
import { initiateBody } from './builders.ts'

/** A test context for a whole file, built from the file's hooks. */
export function fileContext(fileHooks: { after: typeof after }): TestContext {
  return fileHooks as unknown as TestContext
}

export const UUID_V4 = /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/

export interface AttemptFacts {
  id: string
  gateway: string
  key: string
  accountId: string | null
  status: string
  dueAt: Date | null
  polls: number
}

const selectAttempts = sql<AttemptFacts>`
select id, gateway, gateway_key as key, account_id as "accountId", status, due_at as "dueAt", polls
from attempts
where payment_id = $1
order by number`

/** The last attempt, or the one with this index. */
export async function attemptOf(db: Db, paymentId: string, index = -1): Promise<AttemptFacts> {
  const attempt = (await db.query(selectAttempts, [paymentId])).at(index)
  assert.ok(attempt, 'the payment has an attempt')
  return attempt
}

const postpone = sql<unknown>`
update attempts
set due_at = now() + interval '1 hour'
where payment_id = $1`

/** Postpones the next poll by an hour; a webhook still wakes the attempt. */
export async function postponePolls(db: Db, paymentId: string): Promise<void> {
  await db.query(postpone, [paymentId])
}

const FORM = { 'content-type': 'application/x-www-form-urlencoded' }

/** A number that no other test prompts: prompts are limited per number. */
const newZambianNumber = () => `26076${randomInt(1_000_000, 10_000_000)}`

/**
 * The form of the page for a channel, or a whole form as it is. A card is saved after the notice about it; mobile money is a
 * prompt on a phone in Zambia, and elsewhere the page of the provider.
 */
function payerForm(channel: string, country: unknown = 'ZM'): string {
  if (channel.includes('=')) return channel
  if (channel === 'card') return 'channel=card&consent=notice&language=en'
  if (channel !== 'mobile_money' || country !== 'ZM') return `channel=${channel}`
  return `channel=mobile_money&phone=%2B${newZambianNumber()}&network=mtn_zm`
}

/** A checkout whose payer has chosen a method, and is at the provider's page or prompted on the phone. */
export async function startPaying(api: Api, changes: Record<string, unknown>, channel = 'card') {
  const made = await api.post('/api/v1/checkout/initiate-payment', initiateBody(changes))
  assert.equal(made.http, 201, made.text)
  const { uuid, checkoutUrl, paymentGateway, reference } = made.body.data
  const page = new URL(checkoutUrl).pathname
  const pressed = await api.postText(`${page}/attempts`, payerForm(channel, changes.country), FORM)
  assert.equal(pressed.http, 303, pressed.text)
  return { uuid: String(uuid), page, gateway: String(paymentGateway), reference, pressed }
}

export async function readPayment(api: Api, uuid: string) {
  return (await api.get(`/api/v1/checkout/payments/${uuid}`)).body.data
}

/** Delivers a webhook as the provider would. */
export function deliver(
  api: Api,
  path: string,
  { headers, body }: { headers: Record<string, string>; body: Buffer },
): Promise<ApiResponse> {
  return api.send('POST', path, { headers, body: new Uint8Array(body) })
}

/** Records every statement of the test that matches the pattern, except those of background jobs. */
export function watchStatements(t: TestContext, db: Db, pattern: RegExp): string[] {
  const seen: string[] = []
  const { query } = db
  db.query = <Row>(statement: Statement<Row>, values?: readonly unknown[]) => {
    const isJob = /skip locked|^with old as/.test(statement.text)
    if (!isJob && pattern.test(statement.text)) seen.push(statement.text)
    return query(statement, values)
  }
  t.after(() => {
    db.query = query
  })
  return seen
}
