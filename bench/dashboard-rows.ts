// What grows beside a merchant's payments: the request log up to its limit, cases, other merchants, and operators.

import type pg from 'pg'
import { referenceOf } from './growth-rows.ts'

/** As many as the request log keeps of a merchant (src/request-log/jobs.ts). */
const MOST_REQUESTS = 100_000
/** More than a page has, so that a page has as many rows with few payments as with many. */
const PAGE_AND_MORE = 60
const PAYMENTS_PER_RECORD = 1_000

export const requestIdOf = (n: number): string => `bench-request-${n}`

const statements = (payments: number) => {
  const requests = Math.min(payments, MOST_REQUESTS)
  const records = Math.max(PAGE_AND_MORE, Math.ceil(payments / PAYMENTS_PER_RECORD))
  const numbers = (count: number) => `generate_series(0, ${count - 1}) as n`
  const id = `('ffffffff-ffff-7000-8000-' || lpad(n::text, 12, '0'))::uuid`
  return [
    `insert into api_requests (
      merchant_id, created_at, id, key_id, request_id, method, route, http, error_code, reference, duration_ms
    )
    select
      $1, now() - n * interval '5 seconds', gen_random_uuid(), 'benchkey0001', '${requestIdOf(0).slice(0, -1)}' || n,
      case when n % 3 = 0 then 'GET' else 'POST' end,
      case when n % 3 = 0 then '/api/v1/payments' else '/api/v1/checkout/initiate' end, case when n % 20 = 0 then 400 else 200 end,
      case when n % 20 = 0 then 'validation_failed' end, '${referenceOf(0).slice(0, -1)}' || n, 12
    from ${numbers(requests)}`,
    `insert into cases (merchant_id, id, kind, payment_id, attempt_id, owner, created_at, closed_at, note, resolution)
    select
      a.merchant_id, gen_random_uuid(), 'payment_requires_review', a.payment_id, a.id,
      case when row_number() over () % 2 = 0 then 'merchant' else 'operator' end, a.started_at,
      case when row_number() over () % 4 = 0 then a.started_at end, case when row_number() over () % 4 = 0 then 'Bench.' end,
      case when row_number() over () % 4 = 0 then 'accept' end
    from (select * from attempts where merchant_id = $1 order by id desc limit ${records}) as a`,
    `insert into merchants (id, name, mode, created_at, updated_at)
    select ${id}, 'Merchant ' || n, m.mode, now(), now()
    from ${numbers(records)}, merchants m
    where m.id = $1`,
    `insert into users (id, email, name, kind, created_at)
    select ${id}, 'operator' || n || '@example.com', 'Operator ' || n, 'operator', now()
    from ${numbers(records)}, merchants m
    where m.id = $1`,
  ]
}

export async function makeDashboardRows(
  client: pg.Client,
  merchantId: string,
  payments: number,
): Promise<void> {
  for (const text of statements(payments)) await client.query(text, [merchantId])
  await client.query('analyze api_requests, cases, merchants, users')
}
