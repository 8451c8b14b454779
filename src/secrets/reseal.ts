// Retires old encryption keys: encrypts everything that an older key has encrypted again with the first key of the keyring.
// It runs in passes over all encrypted columns, a batch for each request. A pass that finds nothing is followed by a second
// one, the check: a process that still encrypts with an older key may have written behind the first. If the check finds
// nothing either, the keyring may be without older keys. Nothing is stored about a run, so an interrupted one simply
// begins again and skips what is done.

import { Type } from 'typebox'
import { errorFromIssues } from '../core/errors.ts'
import { type CellMap, inNamedCell, ONE_CELL } from '../kit/cells/cells.ts'
import { keyIdOf, type Signer, type Vault, VaultError } from '../kit/crypto.ts'
import type { Db } from '../kit/db/db.ts'
import { homeOf } from '../kit/db/homes.ts'
import { jsonReader } from '../kit/exact-json.ts'
import type { Log } from '../kit/observability/log.ts'
import {
  deleteOtherSecrets,
  listSealedRows,
  type ResealedRow,
  replaceSealedRows,
  SEALED_TABLES,
  type SealedRow,
  type SealedTable,
} from './reseal-queries.ts'
import { KEYRING_CHECK } from './secrets.ts'

export interface ResealApp {
  instanceDb: Db
  cells?: CellMap
  /** The changes of these two are not in the audit log. */
  unscopedDb: Db
  unscopedInstanceDb: Db
  vault: Vault
  log: Log
  /** Signs the cursor. */
  cursors: Signer
}

export interface ResealBatch {
  /** The key that encrypts. */
  keyId: string
  table: string
  /** Rows that were read. */
  read: number
  /** Values that were encrypted again. */
  resealed: number
  /** Values that could not be: they do not decrypt, or another request changed the row at the same time. By key. */
  left: Record<string, number>
  /** True in the pass after one that found nothing. */
  isCheck: boolean
  /** Where the pass or its check continues; null at the end. */
  cursor: string | null
  /** At the end of a check without a value of another key: the keys that are not needed any more. */
  retiredKeys: string[]
}

interface Position {
  table: number
  after: { merchantId: string; id: string } | null
  /** Values of other keys in this pass so far. */
  found: number
  isCheck: boolean
}

const START: Position = { table: 0, after: null, found: 0, isCheck: false }

export async function resealBatch(
  app: ResealApp,
  { cursor, limit }: { cursor?: string; limit: number },
): Promise<ResealBatch> {
  const position = cursor === undefined ? START : readCursor(app, cursor)
  const places = placesOf(app)
  const place = places[position.table]
  if (!place) throw invalidCursor()
  const { table, cell } = place
  const { rows, resealed, left } = await inNamedCell(app.cells, cell, async () => {
    const read = await listSealedRows(handleOf(app, table), table, position.after ?? undefined, limit)
    return { rows: read, ...(await resealRows(app, table, read)) }
  })
  const found = position.found + resealed + sum(left)
  const next = nextPosition(position, rows, limit, found, places.length)
  const retiredKeys = next === null && found === 0 ? await retireKeys(app) : []
  return {
    ...{ keyId: app.vault.keyId, table: table.name, read: rows.length, resealed, left, retiredKeys },
    isCheck: position.isCheck,
    cursor: next && app.cursors.sign(JSON.stringify(next)),
  }
}

const sum = (counts: Record<string, number>) =>
  Object.values(counts).reduce((total, count) => total + count, 0)

const readPosition = jsonReader(
  Type.Object({
    table: Type.Integer(),
    after: Type.Union([Type.Object({ merchantId: Type.String(), id: Type.String() }), Type.Null()]),
    found: Type.Integer(),
    isCheck: Type.Boolean(),
  }),
)

function readCursor({ cursors }: ResealApp, text: string): Position {
  const payload = cursors.verify(text)
  const position = payload === undefined ? undefined : readPosition(payload)
  if (!position) throw invalidCursor()
  return position
}

function invalidCursor() {
  const message = 'cursor must be the unmodified cursor of the previous batch.'
  return errorFromIssues([{ field: 'cursor', code: 'invalid_format', message }])
}

function nextPosition(
  { table, isCheck }: Position,
  rows: readonly SealedRow[],
  limit: number,
  found: number,
  places: number,
): Position | null {
  const last = rows.at(-1)
  if (last && rows.length === limit)
    return { table, after: { merchantId: last.merchantId, id: last.id }, found, isCheck }
  if (table + 1 < places) return { table: table + 1, after: null, found, isCheck }
  return found === 0 && !isCheck ? { ...START, isCheck: true } : null
}

/** A table of the merchants' data is in every cell. */
function placesOf({ cells = ONE_CELL }: ResealApp): { table: SealedTable; cell: number }[] {
  return SEALED_TABLES.flatMap((table) => {
    const numbers = homeOf(table.read.text) === 'instance' ? [0] : cells.numbers
    return numbers.map((cell) => ({ table, cell }))
  })
}

function handleOf({ unscopedDb, unscopedInstanceDb }: ResealApp, { read }: SealedTable): Db {
  return homeOf(read.text) === 'instance' ? unscopedInstanceDb : unscopedDb
}

async function resealRows(app: ResealApp, table: SealedTable, rows: readonly SealedRow[]) {
  const { vault, log } = app
  const left: Record<string, number> = {}
  const isOld = (text: string | null) => text !== null && keyIdOf(text) !== vault.keyId
  const oldRows = rows.filter(({ sealed }) => sealed.some(isOld))
  const fresh = oldRows.flatMap((row) => {
    try {
      return [resealRow(vault, table, row)]
    } catch (error) {
      if (!(error instanceof VaultError)) throw error
      const { merchantId, id } = row
      log.write('encryption.value_unreadable', { merchantId, reason: `${table.name} ${id}: ${error.reason}` })
      return []
    }
  })
  const replaced = await replaceSealedRows(handleOf(app, table), table, fresh)
  let resealed = 0
  for (const { id, sealed } of oldRows)
    for (const text of sealed.filter((one) => one !== null)) {
      const keyId = keyIdOf(text)
      if (keyId === vault.keyId) continue
      if (replaced.has(id)) resealed += 1
      else left[keyId] = (left[keyId] ?? 0) + 1
    }
  return { resealed, left }
}

function resealRow(
  vault: Vault,
  { name, columns, contextColumns = columns }: SealedTable,
  row: SealedRow,
): ResealedRow {
  const { merchantId, id, rowId, sealed } = row
  const fresh = sealed.map((text, index) => {
    const context = { table: name, column: contextColumns[index] ?? '', rowId, merchantId }
    return text === null || keyIdOf(text) === vault.keyId
      ? text
      : vault.seal(vault.open(text, context), context)
  })
  return { merchantId, id, sealed, fresh }
}

/** From now on the service starts without these keys. */
async function retireKeys({ instanceDb, vault, log }: ResealApp): Promise<string[]> {
  const prefix = `${KEYRING_CHECK}:`
  const names = await deleteOtherSecrets(instanceDb, prefix, `${prefix}${vault.keyId}`)
  const keyIds = names.map((name) => name.slice(prefix.length))
  if (keyIds.length > 0) log.write('encryption.keys_retired', { reason: keyIds.join(', ') })
  return keyIds
}
