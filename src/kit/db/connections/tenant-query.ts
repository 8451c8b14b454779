// Runs a statement under row-level security (tenant-isolation.ts): sets the tenant role and the merchant before it, and
// the actor of the audit log where there is one, for its own transaction only, so that a pooler in transaction mode works.
// A single statement takes them along in its own round trip (pipeline.ts).

import pg from 'pg'
import { type BoundStatement, type SentQuery, sendAlone, sendBetween, unnamed } from './pipeline.ts'

/** The scope of a database handle: one merchant, or unscoped. */
export interface QueryScope {
  begin(client: pg.PoolClient, timeoutMs: number | undefined): Promise<void>
  /** A plan belongs to the role it was made for: under one name, each change of the role would replan it. */
  prefix: string
  /** A single statement outside a transaction. */
  send(client: pg.PoolClient, query: SentQuery): Promise<pg.QueryResult>
  /** Absent where a statement has no tenant, or has more than a tenant. */
  tenant?: Tenant
}

/** Sees the rows of every merchant. */
export const UNSCOPED: QueryScope = {
  begin: (client, timeoutMs) => run(client, 'begin', timeoutMs),
  prefix: '',
  send: sendAlone,
}

/** The tenant of statements that are sent together. */
export interface Tenant {
  id: string
  /** Sets the tenant. On Citus it expects a begun transaction. */
  setterFor(client: pg.PoolClient): BoundStatement
}

/** What is sent before and after statements of tenants: on Citus the transaction is explicit. */
export function statementsAround(
  client: pg.PoolClient,
): Record<'before' | 'after', readonly BoundStatement[]> {
  return distributed.has(client) ? AROUND_DISTRIBUTED : { before: [], after: [] }
}

const ROLE = `set_config('role', 'cowry_merchant', true)`

/** Sets the tenant role, the actor of the audit log (audit-context.ts), or both, for one transaction. */
function setterOf(merchantId: string | undefined, audit: string | undefined): BoundStatement | undefined {
  if (merchantId === undefined)
    return audit === undefined
      ? undefined
      : { name: 'set_audit', text: `select set_config('app.audit', $1, true)`, values: [audit] }
  const text = `select ${ROLE}, set_config('app.merchant_id', $1, true)`
  if (audit === undefined) return { name: 'set_tenant_role', text, values: [merchantId] }
  const withAudit = `${text}, set_config('app.audit', $2, true)`
  return { name: 'set_tenant_role_audit', text: withAudit, values: [merchantId, audit] }
}

// A distributed schema (Citus) has its rows on another node. Settings reach it only as SET LOCAL, one per statement, in a
// transaction that was begun.
const distributed = new WeakSet<pg.PoolClient>()

/** The server of this connection has the extension that distributes schemas. */
export function markDistributed(client: pg.PoolClient): void {
  distributed.add(client)
}

const PROPAGATE = `set local citus.propagate_set_commands = 'local'`
const TENANT_ROLE = 'set local role cowry_merchant'
const merchantSetting = (merchantId: string) => `set local app.merchant_id = '${merchantId}'`

const COMMIT = unnamed('commit')
const AROUND_DISTRIBUTED = { before: ['begin', PROPAGATE, TENANT_ROLE].map(unnamed), after: [COMMIT] }

function settingsOf(merchantId: string | undefined, audit: string | undefined): string[] {
  return [
    PROPAGATE,
    ...(merchantId === undefined ? [] : [TENANT_ROLE, merchantSetting(merchantId)]),
    ...(audit === undefined ? [] : [`set local app.audit = ${pg.escapeLiteral(audit)}`]),
  ]
}

async function run(client: pg.PoolClient, text: string, timeoutMs: number | undefined): Promise<void> {
  const config: pg.QueryConfig & { query_timeout: number | undefined } = { text, query_timeout: timeoutMs }
  await client.query(config)
}

export function scopeOf(merchantId: string | undefined, audit?: string): QueryScope {
  // The id is written into the statement text.
  if (merchantId !== undefined && !/^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/.test(merchantId))
    throw new Error('the id of a merchant is a UUID')
  const setter = setterOf(merchantId, audit)
  if (!setter) return UNSCOPED
  return {
    begin: async (client, timeoutMs) => {
      if (!distributed.has(client)) return run(client, `begin; ${withValues(setter)}`, timeoutMs)
      const statements = ['begin', ...settingsOf(merchantId, audit)].map(unnamed)
      await sendAll(client, statements, timeoutMs)
    },
    prefix: merchantId === undefined ? '' : 'm',
    send: (client, query) =>
      distributed.has(client)
        ? sendInTransaction(client, settingsOf(merchantId, audit), query)
        : sendScoped(client, setter, query),
    ...(merchantId !== undefined && audit === undefined && { tenant: tenantOf(merchantId, setter) }),
  }
}

function tenantOf(id: string, setter: BoundStatement): Tenant {
  return {
    id,
    setterFor: (client) => (distributed.has(client) ? unnamed(merchantSetting(id)) : setter),
  }
}

async function sendAll(
  client: pg.PoolClient,
  statements: readonly BoundStatement[],
  timeoutMs: number | undefined,
): Promise<void> {
  const last = statements.at(-1)
  if (!last) return
  const { name, text } = last
  await sendBetween(client, statements.slice(0, -1), { name, text, values: [], query_timeout: timeoutMs })
}

/** The text for the simple protocol, which has no parameters. */
function withValues({ text, values }: BoundStatement): string {
  return text.replaceAll(/\$(\d)/g, (_, number: string) => pg.escapeLiteral(values[Number(number) - 1] ?? ''))
}

async function sendScoped(
  client: pg.PoolClient,
  setter: BoundStatement,
  config: SentQuery,
): Promise<pg.QueryResult> {
  const isNamed = config.name !== ''
  const own = isNamed && config.hasOnePlan ? withOnePlan(setter) : setter
  if (isNamed) await prepareSetter(client, own, config.query_timeout)
  return sendBetween(client, [{ ...own, name: isNamed ? own.name : '' }], config)
}

// With a limit in its values, PostgreSQL takes a plan for any values to be more expensive than one for 21 rows, and plans a
// list again for each page: 0.3 ms.
const withOnePlan = (setter: BoundStatement): BoundStatement => ({
  ...setter,
  name: `${setter.name}_one_plan`,
  text: `${setter.text}, set_config('plan_cache_mode', 'force_generic_plan', true)`,
})

async function sendInTransaction(
  client: pg.PoolClient,
  settings: readonly string[],
  config: SentQuery,
): Promise<pg.QueryResult> {
  return orRollBack(client, config.query_timeout, () =>
    sendBetween(client, ['begin', ...settings].map(unnamed), config, [COMMIT]),
  )
}

/** What the driver says if no reply arrives in time. */
export const READ_TIMEOUT_MESSAGE = 'Query read timeout'

const isReadTimeout = (error: unknown) => error instanceof Error && error.message === READ_TIMEOUT_MESSAGE

/** On Citus it ends the transaction if a statement fails. A silent connection is dropped by the pool. */
export async function orRollBack<Result>(
  client: pg.PoolClient,
  timeoutMs: number | undefined,
  send: () => Promise<Result>,
): Promise<Result> {
  try {
    return await send()
  } catch (error) {
    // If the rollback fails too, its error says that the connection is lost.
    if (distributed.has(client) && !isReadTimeout(error)) await run(client, 'rollback', timeoutMs)
    throw error
  }
}

const preparedSetters = new WeakMap<pg.PoolClient, Set<string>>()

/** Once per connection. By itself it changes nothing: its settings end with its transaction. */
async function prepareSetter(
  client: pg.PoolClient,
  setter: BoundStatement,
  timeoutMs: number | undefined,
): Promise<void> {
  const prepared = preparedSetters.get(client) ?? new Set()
  if (prepared.has(setter.name)) return
  const query = { ...setter, values: [...setter.values], query_timeout: timeoutMs }
  await client.query(query)
  preparedSetters.set(client, prepared.add(setter.name))
}
