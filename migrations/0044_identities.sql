-- People can sign in with an identity provider. Its subject is bound to one account; the e-mail address is compared only once,
-- because a provider may give an address to another person later.

create table identities (
  issuer text not null,
  subject text not null,
  user_id uuid not null references users (id),
  created_at timestamptz not null,
  primary key (issuer, subject),
  -- Another subject with the same address is another person.
  unique (user_id, issuer)
);

select audit_table('identities', 'identity', 'user_id', '{subject}');

select apply_row_level_security();
