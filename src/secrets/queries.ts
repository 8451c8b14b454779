// The statements over service_secrets.

import { sql, type Tx } from '../kit/db/db.ts'

interface SecretRow {
  name: string
  value: string
}

const insertSecretsStatement = sql<unknown>`
insert into service_secrets (name, value)
select name, value
from unnest($1::text[], $2::text[]) as fresh (name, value)
on conflict (name) do nothing`

const selectSecretsStatement = sql<SecretRow>`
select name, value
from service_secrets
where name = any($1::text[])`

/** Inserts the missing secrets and returns the stored ones, so concurrent processes agree on the first value. */
export async function ensureSecrets(db: Tx, fresh: Record<string, string>): Promise<Map<string, string>> {
  const names = Object.keys(fresh)
  await db.query(insertSecretsStatement, [names, Object.values(fresh)])
  const rows = await db.query(selectSecretsStatement, [names])
  return new Map(rows.map(({ name, value }) => [name, value]))
}

const selectSecretsLikeStatement = sql<SecretRow>`
select name, value
from service_secrets
where starts_with(name, $1)`

/** The values of all secrets whose names start with the prefix. */
export async function listSecrets(db: Tx, prefix: string): Promise<string[]> {
  return (await db.query(selectSecretsLikeStatement, [prefix])).map(({ value }) => value)
}

export async function findSecret(db: Tx, name: string): Promise<string | undefined> {
  return (await db.query(selectSecretsStatement, [[name]]))[0]?.value
}

const putSecretStatement = sql<unknown>`
insert into service_secrets (name, value)
values ($1, $2)
on conflict (name) do update set value = excluded.value`

export async function putSecret(db: Tx, name: string, value: string): Promise<void> {
  await db.query(putSecretStatement, [name, value])
}
