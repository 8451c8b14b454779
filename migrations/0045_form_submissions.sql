-- A form of the dashboard that makes something is accepted once, however often the browser sends it.

create table form_submissions (
  -- A keyed hash of the user and the token of the form.
  id uuid primary key,
  expires_at timestamptz not null
);
create index form_submissions_by_expiry on form_submissions (expires_at);

select apply_row_level_security();
