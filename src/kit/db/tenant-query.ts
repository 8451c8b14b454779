// Runs a statement under row-level security (tenant-isolation.ts): sets the tenant role and the merchant before it, for
// its own transaction only, so that a pooler in transaction mode works. A single statement takes them along in its own
// round trip: everything before one Sync is one transaction.

import pg from 'pg'

/** Without a name it is prepared for one use. */
type SentQuery = pg.QueryConfig & { name: string; query_timeout?: number }

/** The scope of a database handle: one merchant, or unscoped. */
export interface QueryScope {
  begin: string
  /** A plan belongs to the role it was made for: under one name, each change of the role would replan it. */
  prefix: string
  /** A single statement outside a transaction. */
  send(client: pg.PoolClient, query: SentQuery): Promise<pg.QueryResult>
}

/** Sees the rows of every merchant. */
export const UNSCOPED: QueryScope = {
  begin: 'begin',
  prefix: '',
  send: (client, query) => client.query(query),
}

export function scopeOf(merchantId: string): QueryScope {
  // The id is written into the statement text.
  if (!/^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/.test(merchantId))
    throw new Error('the id of a merchant is a UUID')
  return {
    begin: `begin; select ${ROLE}, set_config('app.merchant_id', '${merchantId}', true)`,
    prefix: 'm',
    send: (client, query) => sendScoped(client, merchantId, query),
  }
}

const ROLE = `set_config('role', 'cowry_merchant', true)`
const SET_ROLE = { name: 'set_tenant_role', text: `select ${ROLE}, set_config('app.merchant_id', $1, true)` }

async function sendScoped(
  client: pg.PoolClient,
  merchantId: string,
  config: SentQuery,
): Promise<pg.QueryResult> {
  const isNamed = config.name !== ''
  if (isNamed) await prepareSetRole(client, merchantId, config.query_timeout)
  return new Promise((resolve, reject) => {
    // Without the mode, the driver would send a statement without name and values by the simple protocol, and skip SET
    // ROLE.
    const extended = { ...config, queryMode: 'extended' }
    const query = new pg.Query(extended, (error, result) => (error ? reject(error) : resolve(result)))
    // A boundary: the driver's types leave out how its queries write to the connection.
    const driverQuery = query as unknown as DriverQuery
    driverQuery.query_timeout = config.query_timeout
    client.query(prependSetRole(driverQuery, merchantId, isNamed ? SET_ROLE.name : ''))
  })
}

const preparedClients = new WeakSet<pg.PoolClient>()

/** Once per connection. By itself it changes nothing: its settings end with its transaction. */
async function prepareSetRole(
  client: pg.PoolClient,
  merchantId: string,
  timeoutMs: number | undefined,
): Promise<void> {
  if (preparedClients.has(client)) return
  const query = { ...SET_ROLE, values: [merchantId], query_timeout: timeoutMs }
  await client.query(query)
  preparedClients.add(client)
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

/** The same query with SET ROLE before it, whose reply is ignored. If it fails, the server skips the rest. */
function prependSetRole(query: DriverQuery, merchantId: string, setRoleName: string): DriverQuery {
  const { prepare, handleDataRow, handleCommandComplete } = query
  let isRoleSet = false
  return Object.assign(query, {
    prepare(connection: DriverConnection) {
      if (setRoleName === '') connection.parse({ name: setRoleName, text: SET_ROLE.text })
      connection.bind({ statement: setRoleName, values: [merchantId] })
      connection.execute({})
      prepare.call(query, connection)
    },
    handleDataRow(message: unknown) {
      if (isRoleSet) handleDataRow.call(query, message)
    },
    handleCommandComplete(message: unknown, connection: DriverConnection) {
      if (isRoleSet) handleCommandComplete.call(query, message, connection)
      isRoleSet = true
    },
  })
}
