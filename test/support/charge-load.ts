// Clients that charge a saved card: until the service accepts no more connections, for tests of how a process ends, or
// until the test stops them.

import assert from 'node:assert/strict'
import { setTimeout as delay } from 'node:timers/promises'
import { type Db, sql } from '../../src/kit/db/db.ts'
import type { Api } from './api.ts'
import { chargeBody, newReference } from './builders.ts'

const CHARGE = '/api/v1/charges/recurring'
const VERIFY = '/api/v1/checkout/verify-payment'
const CLIENTS = 8
// Without it, the clients would take a processor from the work that they run beside.
const BETWEEN_MS = 25

export interface ChargeLoad {
  /** The references of the charges that were acknowledged as successful. */
  acknowledged(): readonly string[]
  /** Every other response. */
  unexpected(): readonly string[]
  /** The references of the requests without a response: each client's last one. */
  refused(): readonly string[]
  /** Resolves when every client was refused. */
  ended: Promise<unknown>
}

export function chargeUntilRefused(api: Api, token: string): ChargeLoad {
  const acknowledged: string[] = []
  const unexpected: string[] = []
  const refused: string[] = []
  const client = async () => {
    for (;;) {
      const body = chargeBody(token)
      const answer = await api.post(CHARGE, body).catch(() => undefined)
      if (!answer) return refused.push(body.reference)
      const isCharged = answer.http === 201 && answer.body.data.status === 'successful'
      if (isCharged) acknowledged.push(body.reference)
      else unexpected.push(`${answer.http} ${answer.text}`)
    }
  }
  return {
    acknowledged: () => acknowledged,
    unexpected: () => unexpected,
    refused: () => refused,
    ended: Promise.all(Array.from({ length: CLIENTS }, client)),
  }
}

interface SteadyOptions {
  clients: number
  /** Fields of each charge. */
  fields?: object
  /** Each charge is also verified. */
  verifies?: boolean
  /** A charge that gets 503 is repeated; without it, 503 is a failure. */
  repeatsUnavailable?: boolean
}

export interface SteadyCharges {
  /** The references of the successful charges. */
  charged: string[]
  failed: string[]
  /** Resolves when every client has its last response. */
  stop(): Promise<void>
}

/** Each client sends its next charge a moment after the response. */
export function startCharges(api: Api, token: string, options: SteadyOptions): SteadyCharges {
  const { fields, clients, verifies = false, repeatsUnavailable = false } = options
  const charged: string[] = []
  const failed: string[] = []
  let isStopped = false
  const charge = async (): Promise<void> => {
    const body = chargeBody(token, { ...fields, reference: newReference() })
    let answer = await api.post(CHARGE, body)
    while (answer.http === 503 && repeatsUnavailable) {
      if (isStopped) return
      await delay(BETWEEN_MS)
      answer = await api.post(CHARGE, body)
    }
    if (answer.http === 201 && answer.body.data.status === 'successful') charged.push(body.reference)
    else failed.push(`${answer.http} ${answer.text}`)
    if (!verifies) return
    const read = await api.get(`${VERIFY}?reference=${body.reference}`)
    if (read.http !== 200) failed.push(`${read.http} ${read.text}`)
  }
  const client = async () => {
    for (; !isStopped; await delay(BETWEEN_MS))
      await charge().catch((error: unknown) => void failed.push(String(error)))
  }
  const running = Promise.all(Array.from({ length: clients }, client))
  const stop = async () => {
    isStopped = true
    await running
  }
  return { charged, failed, stop }
}

const selectCharges = sql<{ reference: string; status: string; credits: number }>`
select p.reference, p.status, count(l.payment_id)::integer as credits
from payments p
left join ledger_entries l on l.payment_id = p.id and l.kind = 'capture'
where p.reference = any($1::text[])
group by p.id, p.reference, p.status`

/** Each acknowledged charge is stored and credited once, and a request without a response left nothing. */
export async function assertOnlyAcknowledged(db: Db, load: ChargeLoad): Promise<void> {
  assert.deepEqual(load.unexpected(), [])
  const [acknowledged, refused] = [load.acknowledged(), load.refused()]
  const stored = await db.query(selectCharges, [[...acknowledged, ...refused]])
  assert.deepEqual(
    stored.toSorted((one, other) => one.reference.localeCompare(other.reference)),
    acknowledged
      .toSorted((one, other) => one.localeCompare(other))
      .map((reference) => ({ reference, status: 'successful', credits: 1 })),
  )
}
