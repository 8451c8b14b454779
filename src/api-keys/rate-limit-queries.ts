// The token buckets of the rate limits, shared by all processes. The table is unlogged: after a crash it is empty, and every
// key starts with a full bucket.

import type { RateLimit } from '../core/rate-limit.ts'
import { type Db, sql } from '../kit/db/db.ts'

export interface TokenSpend extends RateLimit {
  owner: string
  spent: number
}

// Rows are locked in the order of their owners, so two processes with the same keys cannot deadlock. The time comes from the
// caller; a process whose clock is behind adds no tokens.
const spendStatement = sql<{ owner: string; tokens: number }>`
insert into rate_limit_buckets as b (owner, per_second, burst, tokens, updated_at)
select s.owner, s."perSecond", s.burst, s.burst - s.spent, $2::timestamptz
from jsonb_to_recordset($1::jsonb) as s (owner text, spent float8, "perSecond" float8, burst float8)
order by s.owner
on conflict (owner) do update
set
  per_second = excluded.per_second,
  burst = excluded.burst,
  tokens = least(
    excluded.burst,
    b.tokens + greatest(0, extract(epoch from excluded.updated_at - b.updated_at)) * excluded.per_second
  ) - (excluded.burst - excluded.tokens),
  -- A time from a clock that was far ahead is replaced; otherwise the bucket would not refill until that time.
  updated_at = case
    when b.updated_at - excluded.updated_at > interval '5 seconds' then excluded.updated_at
    else greatest(b.updated_at, excluded.updated_at)
  end
returning b.owner, b.tokens`

export async function spendTokens(
  db: Db,
  at: Date,
  spends: readonly TokenSpend[],
): Promise<{ owner: string; tokens: number }[]> {
  return db.query(spendStatement, [JSON.stringify(spends), at])
}

const purgeStatement = sql<{ owner: string }>`
delete from rate_limit_buckets
where owner in (
  select owner
  from rate_limit_buckets
  where updated_at < $1
  limit 1000
)
returning owner`

/** Purges buckets that are full again after a long idle time; a new bucket starts full as well. */
export async function purgeIdleBuckets(db: Db, before: Date): Promise<number> {
  return (await db.query(purgeStatement, [before])).length
}
