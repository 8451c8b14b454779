-- What people did about a case before it ended: status checks at the gateway, proposals, and how a proposal ended without a
-- decision. The end itself is in the case.

create table case_steps (
  merchant_id uuid not null,
  id uuid not null,
  case_id uuid not null,
  kind text not null check (kind in ('asked', 'proposed', 'rejected', 'withdrawn')),
  -- As in cases.resolved_by.
  actor text not null,
  -- The proposed resolution; null for a status check.
  resolution text,
  note text,
  -- What the gateway answered to a status check, and its own words.
  answer text check (
    answer in ('succeeded', 'declined', 'pending', 'not_found', 'no_answer', 'unrecognized', 'unclear')
  ),
  provider_message text,
  created_at timestamptz not null,
  primary key (merchant_id, id),
  foreign key (merchant_id, case_id) references cases (merchant_id, id),
  check ((kind = 'asked') = (answer is not null)),
  check ((kind = 'asked') = (resolution is null))
);

create index case_steps_by_case on case_steps (merchant_id, case_id);
alter table case_steps alter column merchant_id set (n_distinct = 10);

-- A status check may leave the case as it is. The other steps change the case, which is audited.
select audit_table(
  'case_steps', 'case', 'case_id', '{actor,note,provider_message}', '{merchant_id,id,case_id,created_at}', 'insert',
  'new.kind = ''asked'''
);

select apply_row_level_security();
