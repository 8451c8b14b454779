// Copies a database to another server by logical replication while it is used, and switches, with the statements of the
// runbook alone.

import pg from 'pg'
import { eventually } from '../../support/process.ts'
import { NEW, OLD } from './runbook.ts'

// A busy machine copies about a thousand payments a second.
const COPIED_IN_MS = 30 * 60_000
const RECEIVED_IN_MS = 60_000

export async function runSql<Row extends pg.QueryResultRow>(url: string, text: string): Promise<Row[]> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  try {
    return (await client.query<Row>(text)).rows
  } finally {
    await client.end()
  }
}

/** The new database has the schema, and the rows that a first start writes. */
export async function replicate(oldUrl: string, newUrl: string, onUncopied: (tables: number) => void) {
  await runSql(newUrl, NEW.empty)
  await runSql(oldUrl, OLD.publish)
  await runSql(newUrl, subscribeTo(oldUrl))
  await eventually(
    async () => {
      const uncopied = await runSql(newUrl, NEW.uncopied)
      onUncopied(uncopied.length)
      return uncopied.length
    },
    (count) => count === 0,
    COPIED_IN_MS,
  )
  await runSql(newUrl, NEW.analyze)
}

function subscribeTo(oldUrl: string): string {
  const { hostname, port, username, password } = new URL(oldUrl)
  const values = { 'old host': hostname, port, user: username, password }
  return Object.entries(values).reduce(
    (text, [name, value]) => text.replace(`<${name}>`, value),
    NEW.subscribe,
  )
}

/** From now on the old server takes no writes. */
export async function refuseWrites(oldUrl: string): Promise<void> {
  await runSql(oldUrl, OLD.refuseWrites)
  // Twice: a session that began just before is in the list a moment later.
  await runSql(oldUrl, OLD.disconnect)
  await runSql(oldUrl, OLD.disconnect)
}

/** Waits until the new server has everything, and ends the replication. */
export async function complete(oldUrl: string, newUrl: string): Promise<void> {
  const [position] = await runSql<{ lsn: string }>(oldUrl, OLD.position)
  const received = OLD.received.replace('<lsn>', position?.lsn ?? '')
  await eventually(
    () => runSql<{ isReceived: boolean }>(oldUrl, received),
    ([row]) => row?.isReceived === true,
    RECEIVED_IN_MS,
  )
  for (const { command } of await runSql<{ command: string }>(oldUrl, OLD.numbers))
    await runSql(newUrl, command)
  await runSql(newUrl, NEW.unsubscribe)
}
