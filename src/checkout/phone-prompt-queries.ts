// Every statement over the prompts of a phone: a rate limit with a fixed window.

import { type Db, sql } from '../kit/db/db.ts'

export interface PromptQuota {
  isAllowed: boolean
  windowEndsAt: Date
}

// A rejected prompt updates the row too, up to one above the limit. So the statement always returns the row, and the result
// is exact under concurrency; a second read of the row would not be.
const countPromptStatement = sql<PromptQuota>`
insert into phone_prompts as p (phone_hash, window_ends_at, prompts)
values ($1, $3, 1)
on conflict (phone_hash) do update
set
  window_ends_at = case when p.window_ends_at <= $2 then excluded.window_ends_at else p.window_ends_at end,
  prompts = case when p.window_ends_at <= $2 then 1 else least(p.prompts, $4) + 1 end
returning prompts <= $4 as "isAllowed", window_ends_at as "windowEndsAt"`

/** Counts one prompt of the phone's quota. Not allowed: `windowEndsAt` is when the next one is. */
export async function countPrompt(
  db: Db,
  phoneHash: Buffer,
  now: Date,
  newWindowEndsAt: Date,
  limit: number,
): Promise<PromptQuota> {
  const [quota] = await db.query(countPromptStatement, [phoneHash, now, newWindowEndsAt, limit])
  if (!quota) throw new Error('the count of a prompt returned no row')
  return quota
}

const purgePromptWindowsStatement = sql<unknown>`
with old as materialized (
  select phone_hash
  from phone_prompts
  where window_ends_at <= $1
  limit 1000
)
delete from phone_prompts p
using old
where p.phone_hash = old.phone_hash and p.window_ends_at <= $1
returning 1`

export async function purgePromptWindows(db: Db, before: Date): Promise<number> {
  return (await db.query(purgePromptWindowsStatement, [before])).length
}
