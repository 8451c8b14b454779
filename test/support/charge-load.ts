// Clients that charge a saved card until the service accepts no more connections, for tests of how a process ends.

import assert from 'node:assert/strict'
import { type Db, sql } from '../../src/kit/db/db.ts'
import type { Api } from './api.ts'
import { chargeBody } from './builders.ts'

const CHARGE = '/api/v1/charges/recurring'
const CLIENTS = 8

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
