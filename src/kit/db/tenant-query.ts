// How a statement gets behind the wall (wall.ts): the merchants' role and the merchant are set in front of it, for its own
// transaction and no longer, so that a pooler in transaction mode may stand in between. A statement alone takes them along
// in its own round trip: what is sent before one Sync is one transaction.

import pg from 'pg'

/** Without a name it is prepared for one time only. */
type SentQuery = pg.QueryConfig & { name: string; query_timeout?: number }

/** Which side of the wall a handle of the database is on. */
export interface QueryScope {
  begin: string
  /** A plan belongs to the role it was made for: under one name, each change of sides would have it made anew. */
  prefix: string
  /** A statement alone, not in a transaction of its own. */
  send(client: pg.PoolClient, query: SentQuery): Promise<pg.QueryResult>
}

/** Where every merchant's rows are seen. */
export const UNSCOPED: QueryScope = {
  begin: 'begin',
  prefix: '',
  send: (client, query) => client.query(query),
}

export function scopeOf(merchantId: string): QueryScope {
  // It is written into a statement as it is.
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
    // Without the mode the driver would send what has neither name nor values in a way of its own, past the entry.
    const extended = { ...config, queryMode: 'extended' }
    const query = new pg.Query(extended, (error, result) => (error ? reject(error) : resolve(result)))
    // A boundary: the driver's types leave out how its queries speak with the server.
    const driverQuery = query as unknown as DriverQuery
    driverQuery.query_timeout = config.query_timeout
    client.query(prependSetRole(driverQuery, merchantId, isNamed ? SET_ROLE.name : ''))
  })
}

const preparedClients = new WeakSet<pg.PoolClient>()

/** Once per connection. Alone it changes nothing: what it sets ends with it. */
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

/** The same query with the entry in front, whose answer nobody needs. If the entry fails, the server skips the rest. */
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
