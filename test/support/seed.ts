// Inserts many customers at once: making them by payments would take minutes.

import { searchTextOf } from '../../src/core/search-text.ts'
import { systemClock } from '../../src/kit/clock.ts'
import { type Db, sql } from '../../src/kit/db/db.ts'
import { systemRandom } from '../../src/kit/random.ts'

export interface SeedCustomer {
  firstname: string
  lastname: string
  email: string
  createdAt?: Date
}

const random = systemRandom(systemClock)

const insertCustomers = sql`
insert into customers (
  merchant_id, id, email, email_key, firstname, lastname, search_text, created_at, updated_at
)
select $1, p.id, p.email, p.email, p.firstname, p.lastname, p."searchText", p."createdAt", p."createdAt"
from jsonb_to_recordset($2::jsonb) as p (
  id uuid, email text, firstname text, lastname text, "searchText" text, "createdAt" timestamptz
)`

/** Returns their uuids in the given order; without a time each is a millisecond younger than the previous one. */
export async function seedCustomers(db: Db, merchantId: string, people: SeedCustomer[]): Promise<string[]> {
  const start = Date.now() - people.length
  const rows = people.map((person, index) => ({
    createdAt: new Date(start + index),
    ...person,
    id: random.uuid(),
    searchText: searchTextOf(person),
  }))
  await db.query(insertCustomers, [merchantId, JSON.stringify(rows)])
  return rows.map(({ id }) => id)
}

const insertMany = sql`
insert into customers (
  merchant_id, id, email, email_key, firstname, lastname, search_text, created_at, updated_at
)
select
  $1, gen_random_uuid(), 'p' || n || '@example.com', 'p' || n || '@example.com', 'Person', 'No' || n,
  'person no' || n || chr(10) || 'p' || n || '@example.com', t, t
from generate_series(1, $2::integer) as n,
  lateral (select timestamptz '2026-01-01T00:00:00Z' + n * interval '1 millisecond' as t) times`

/** Any number of numbered customers, oldest first: "Person No1" … */
export async function seedNumberedCustomers(db: Db, merchantId: string, count: number): Promise<void> {
  await db.query(insertMany, [merchantId, count])
}
