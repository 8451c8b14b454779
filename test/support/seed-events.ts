// Inserts many events at once: making them by payments would take minutes. They are settlement events, because those
// need no other records.

import { toEventBody } from '../../src/events/service.ts'
import { systemClock } from '../../src/kit/clock.ts'
import { type Db, sql } from '../../src/kit/db/db.ts'
import { systemRandom } from '../../src/kit/random.ts'

export interface SeedEvent {
  resource: string
  version: number
  createdAt?: Date
}

const random = systemRandom(systemClock)

export const newResources = (count: number): string[] => Array.from({ length: count }, () => random.uuid())

const insertEvents = sql`
insert into events (merchant_id, id, type, resource_type, resource_id, version, body, created_at)
select $1, (b ->> 'id')::uuid, b ->> 'type', 'settlement', (b #>> '{resource,uuid}')::uuid,
  (b #>> '{resource,version}')::integer, b, (b ->> 'createdAt')::timestamptz
from jsonb_array_elements($2::jsonb) as b`

/** In one transaction, as one statement; returns the ids in the given order. */
export async function seedEvents(db: Db, merchantId: string, events: SeedEvent[]): Promise<string[]> {
  const bodies = events.map(({ resource, version, createdAt = new Date() }) =>
    toEventBody({
      id: random.uuid(),
      type: 'wallet.settled',
      mode: 'test',
      createdAt,
      resource: { type: 'settlement', uuid: resource, version },
      data: { uuid: resource, currency: 'KES', amount: '1250.50', version },
    }),
  )
  await db.query(insertEvents, [merchantId, JSON.stringify(bodies)])
  return bodies.map(({ id }) => id)
}
