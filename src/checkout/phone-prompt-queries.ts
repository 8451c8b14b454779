// Every statement over the prompts of a phone: a rate limit with a fixed window, and which attempt has the open prompt.

import { type Db, sql } from '../kit/db/db.ts'
import { firstRow } from '../kit/db/rows.ts'

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
  /** The attempt that has the phone, as far as the caller knows; null before the first look. */
  holder: PromptHolder | null
}

export interface PromptHolder {
  attemptKey: string
  /** When its prompt ends by itself, in the past if it has ended; null while the attempt is not recorded. */
  endsAt: Date | null
}

export interface ClaimedPrompt {
  isAllowed: boolean
  /** The attempt that has the phone: the caller's own, or another one that may have an open prompt; null: none has. */
  attemptKey: string | null
  /** Until when the phone waits for that attempt to be recorded. */
  heldUntil: Date | null
  windowEndsAt: Date
}

// A rejected prompt updates the row too, so the statement always returns it, and the result is exact under concurrency; a
// second read of the row would not be. Above the limit the count stays at one more than the limit. The attempt that has the
// phone may be in another database, so the caller says when its prompt ends; that of any other attempt counts as open.
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
  from (
    select
      case
        when p.attempt_key is null then false
        when p.attempt_key = $8::text then coalesce($9::timestamptz, p.held_until) > $2::timestamptz
        else true
      end as is_open
  ) o
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
  attempt_key as "attemptKey",
  held_until as "heldUntil",
  window_ends_at as "windowEndsAt"`

/** Claims the phone for the attempt and counts the prompt, unless another prompt is open or the limit is reached. */
export async function claimPrompt(db: Db, claim: PromptClaim): Promise<ClaimedPrompt> {
  const { phoneHash, attemptKey, now, heldUntil, newWindowEndsAt, limit, isCounted, holder } = claim
  const values = [phoneHash, now, newWindowEndsAt, limit, attemptKey, heldUntil, isCounted ? 1 : 0]
  const [claimed] = await db.query(claimPromptStatement, [...values, holder?.attemptKey, holder?.endsAt])
  if (!claimed) throw new Error('the claim of a phone returned no row')
  return claimed
}

// Without the gateway's answer the prompt ends after five minutes, the longest time that an operator waits for the PIN.
const selectPromptEnd = sql<{ endsAt: Date | null }>`
select
  case
    when status not in ('started', 'awaiting_customer') then null
    when next_step is null then started_at + interval '5 minutes'
    when next_step ->> 'kind' = 'prompt' then (next_step ->> 'expiresAt')::timestamptz
  end as "endsAt"
from attempts
where gateway_key = $1`

/** When the prompt of the attempt ends by itself; null if it has ended, undefined if the attempt is not recorded. */
export async function findPromptEnd(db: Db, attemptKey: string): Promise<Date | null | undefined> {
  return (await firstRow(db, selectPromptEnd, [attemptKey]))?.endsAt
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
