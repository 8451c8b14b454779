-- At most one open prompt on a phone, over all payments and merchants.

alter table phone_prompts
  -- The attempt that sends or has sent the last prompt, by its key at the gateway.
  add column attempt_key text,
  -- Until when the phone waits for the attempt to be recorded. Nothing is sent before that.
  add column held_until timestamptz,
  add check ((attempt_key is null) = (held_until is null));

-- When the prompt of this attempt ends by itself; in the past if it has ended. Security definer: the attempt may belong to
-- another merchant, and only this time is revealed. Without the gateway's answer the prompt ends after five minutes, the
-- longest time that an operator waits for the PIN.
create function prompt_ends_at(attempt_key text, held_until timestamptz) returns timestamptz
language sql stable security definer
return coalesce(
  (
    select
      case
        when a.status not in ('started', 'awaiting_customer') then '-infinity'::timestamptz
        when a.next_step is null then a.started_at + interval '5 minutes'
        when a.next_step ->> 'kind' = 'prompt' then (a.next_step ->> 'expiresAt')::timestamptz
        else '-infinity'::timestamptz
      end
    from attempts a
    where a.gateway_key = attempt_key
  ),
  held_until,
  '-infinity'::timestamptz
);
