// Every statement over the prompts of a phone: a rate limit with a fixed window, and which attempt has the open prompt.

import { type Db, sql } from '../kit/db/db.ts'

/** One prompt that an attempt wants to send. */
export interface PromptClaim {
  phoneHash: Buffer
  attemptKey: string
  now: Date
  /** Until when the attempt must be recorded. */
  heldUntil: Date
  newWindowEndsAt: Date
  limit: number
  /** A failover sends the prompt that was counted before. */
  isCounted: boolean
}

export interface ClaimedPrompt {
  isAllowed: boolean
  /** When the open prompt of another attempt ends by itself; null if there is none. */
  openUntil: Date | null
  windowEndsAt: Date
}

// A rejected prompt updates the row too, so the statement always returns it, and the result is exact under concurrency; a
// second read of the row would not be. Above the limit the count stays at one more than the limit.
const claimPromptStatement = sql<ClaimedPrompt>`
insert into phone_prompts as p (phone_hash, window_ends_at, prompts, attempt_key, held_until)
values ($1, $3, 1, $5, $6)
on conflict (phone_hash) do update
set (window_ends_at, prompts, attempt_key, held_until) = (
  select
    case when s.is_over then $3::timestamptz else p.window_ends_at end,
    c.prompts,
    case when c.is_allowed then $5::text else p.attempt_key end,
    case when c.is_allowed then $6::timestamptz else p.held_until end
  from (select prompt_ends_at(p.attempt_key, p.held_until) > $2::timestamptz as is_open) o
  cross join lateral (select not o.is_open and p.window_ends_at <= $2::timestamptz as is_over) s
  cross join lateral (
    select
      case
        when o.is_open then p.prompts
        when s.is_over then 1
        else least(p.prompts, $4::integer) + $7::integer
      end as prompts
  ) n
  cross join lateral (select n.prompts, not o.is_open and n.prompts <= $4::integer as is_allowed) c
)
returning
  attempt_key = $5 as "isAllowed",
  case
    when attempt_key <> $5 and prompt_ends_at(attempt_key, held_until) > $2
    then prompt_ends_at(attempt_key, held_until)
  end as "openUntil",
  window_ends_at as "windowEndsAt"`

/** Claims the phone for the attempt and counts the prompt, unless another prompt is open or the limit is reached. */
export async function claimPrompt(db: Db, claim: PromptClaim): Promise<ClaimedPrompt> {
  const { phoneHash, attemptKey, now, heldUntil, newWindowEndsAt, limit, isCounted } = claim
  const values = [phoneHash, now, newWindowEndsAt, limit, attemptKey, heldUntil, isCounted ? 1 : 0]
  const [claimed] = await db.query(claimPromptStatement, values)
  if (!claimed) throw new Error('the claim of a phone returned no row')
  return claimed
}

const purgePromptWindowsStatement = sql<unknown>`
with old as materialized (
  select phone_hash
  from phone_prompts
  where window_ends_at <= $1 and prompt_ends_at(attempt_key, held_until) <= $1
  limit 1000
)
delete from phone_prompts p
using old
where p.phone_hash = old.phone_hash
  and p.window_ends_at <= $1
  and prompt_ends_at(p.attempt_key, p.held_until) <= $1
returning 1`

export async function purgePromptWindows(db: Db, before: Date): Promise<number> {
  return (await db.query(purgePromptWindowsStatement, [before])).length
}
