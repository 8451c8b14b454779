// Runs a statement under row-level security (tenant-isolation.ts): sets the tenant role and the merchant before it, and
// the actor of the audit log where there is one, for its own transaction only, so that a pooler in transaction mode works. A single statement takes them along in its own
// round trip: everything before one Sync is one transaction.

import pg from 'pg'

/** Without a name it is prepared for one use. */
type SentQuery = pg.QueryConfig & { name: string; query_timeout?: number }

/** The scope of a database handle: one merchant, or unscoped. */
export interface QueryScope {
  begin(client: pg.PoolClient, timeoutMs: number | undefined): Promise<void>
  /** A plan belongs to the role it was made for: under one name, each change of the role would replan it. */
  prefix: string
  /** A single statement outside a transaction. */
  send(client: pg.PoolClient, query: SentQuery): Promise<pg.QueryResult>
  /** Sets the tenant; absent where a statement has none, or has more than a tenant. */
  setter?: Setter
}

/** Sees the rows of every merchant. */
export const UNSCOPED: QueryScope = {
  begin: (client, timeoutMs) => run(client, 'begin', timeoutMs),
  prefix: '',
  send: (client, query) => client.query(query),
}

/** Sets the tenant role, the actor of the audit log (audit-context.ts), or both, for one transaction. */
export interface Setter {
  name: string
  text: string
  values: string[]
}

const ROLE = `set_config('role', 'cowry_merchant', true)`

function setterOf(merchantId: string | undefined, audit: string | undefined): Setter | undefined {
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

export const isDistributed = (client: pg.PoolClient) => distributed.has(client)

function settingsOf(merchantId: string | undefined, audit: string | undefined): string[] {
  const tenant = ['set local role cowry_merchant', `set local app.merchant_id = '${merchantId}'`]
  return [
    `set local citus.propagate_set_commands = 'local'`,
    ...(merchantId === undefined ? [] : tenant),
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
      for (const text of ['begin', ...settingsOf(merchantId, audit)]) await run(client, text, timeoutMs)
    },
    prefix: merchantId === undefined ? '' : 'm',
    send: (client, query) =>
      distributed.has(client)
        ? sendInTransaction(client, settingsOf(merchantId, audit), query)
        : sendScoped(client, setter, query),
    ...(merchantId !== undefined && audit === undefined && { setter }),
  }
}

/** The text for the simple protocol, which has no parameters. */
function withValues({ text, values }: Setter): string {
  return text.replaceAll(/\$(\d)/g, (_, number: string) => pg.escapeLiteral(values[Number(number) - 1] ?? ''))
}

async function sendScoped(client: pg.PoolClient, setter: Setter, config: SentQuery): Promise<pg.QueryResult> {
  const isNamed = config.name !== ''
  if (isNamed) await prepareSetter(client, setter, config.query_timeout)
  return sendAfter(client, [{ ...setter, name: isNamed ? setter.name : '' }], config)
}

async function sendInTransaction(
  client: pg.PoolClient,
  settings: readonly string[],
  config: SentQuery,
): Promise<pg.QueryResult> {
  const steps = ['begin', ...settings].map((text) => ({ name: '', text, values: [] }))
  try {
    const result = await sendAfter(client, steps, config)
    await run(client, 'commit', config.query_timeout)
    return result
  } catch (error) {
    await run(client, 'rollback', config.query_timeout).catch(() => undefined)
    throw error
  }
}

/** Sends the statement after others, in one round trip. */
function sendAfter(
  client: pg.PoolClient,
  steps: readonly Setter[],
  config: SentQuery,
): Promise<pg.QueryResult> {
  return new Promise((resolve, reject) => {
    // Without the mode, the driver would send a statement without name and values by the simple protocol, and skip the
    // settings.
    const extended = { ...config, queryMode: 'extended' }
    const query = new pg.Query(extended, (error, result) => (error ? reject(error) : resolve(result)))
    // A boundary: the driver's types leave out how its queries write to the connection.
    const driverQuery = query as unknown as DriverQuery
    driverQuery.query_timeout = config.query_timeout
    client.query(prependSteps(driverQuery, steps))
  })
}

const preparedSetters = new WeakMap<pg.PoolClient, Set<string>>()

/** Once per connection. By itself it changes nothing: its settings end with its transaction. */
async function prepareSetter(
  client: pg.PoolClient,
  setter: Setter,
  timeoutMs: number | undefined,
): Promise<void> {
  const prepared = preparedSetters.get(client) ?? new Set()
  if (prepared.has(setter.name)) return
  const query = { ...setter, query_timeout: timeoutMs }
  await client.query(query)
  preparedSetters.set(client, prepared.add(setter.name))
}

interface DriverConnection {
  parse(message: { name: string; text: string }): void
  bind(message: { statement: string; values: readonly string[] }): void
  execute(message: object): void
}

interface DriverQuery extends pg.Submittable {
  query_timeout: number | undefined
  prepare(connection: DriverConnection): void
  handleDataRow(message: unknown): void
  handleCommandComplete(message: unknown, connection: DriverConnection): void
}

/** The same query with others before it, whose replies are ignored. If one fails, the server skips the rest. */
function prependSteps(query: DriverQuery, steps: readonly Setter[]): DriverQuery {
  const { prepare, handleDataRow, handleCommandComplete } = query
  let done = 0
  return Object.assign(query, {
    prepare(connection: DriverConnection) {
      for (const { name, text, values } of steps) {
        if (name === '') connection.parse({ name, text })
        connection.bind({ statement: name, values })
        connection.execute({})
      }
      prepare.call(query, connection)
    },
    handleDataRow(message: unknown) {
      if (done === steps.length) handleDataRow.call(query, message)
    },
    handleCommandComplete(message: unknown, connection: DriverConnection) {
      if (done === steps.length) handleCommandComplete.call(query, message, connection)
      else done += 1
    },
  })
}
