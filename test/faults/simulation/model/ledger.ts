// The model's statements of the ledger, except the entries of moves, and of the outbox.

import { insertEvents } from '../../../../src/events/queries.ts'
import {
  insertEntry,
  lockDebits,
  readAvailable,
  reduceSettlements,
} from '../../../../src/ledger/debit-queries.ts'
import { claimDueSettlements } from '../../../../src/ledger/queries.ts'
import { foldDeltas } from '../../../../src/ledger/statement-queries.ts'
import { post } from './moves.ts'
import { claim, latest, modelStatement, readRows, recordsetColumns, timeOf } from './statement.ts'
import type { Row, TableAccess } from './store.ts'

const sum = (rows: readonly Row[], column: string) =>
  rows.reduce((total, row) => total + (row[column] as bigint), 0n)

const isOf = (merchantId: unknown, currency: unknown) => (row: Row) =>
  row.merchant_id === merchantId && row.currency === currency

function available(access: TableAccess, [merchantId, currency]: readonly unknown[]): Row[] {
  const folded = access.all('balances').filter(isOf(merchantId, currency))
  const deltas = access.all('balance_deltas').filter(isOf(merchantId, currency))
  const unfolded = deltas.filter(({ account }) => account === 'available')
  return [{ availableMinor: sum(folded, 'available_minor') + sum(unfolded, 'amount_minor') }]
}

function takePending(
  access: TableAccess,
  [merchantId, currency, paymentId, wanted, limit]: readonly unknown[],
): Row[] {
  const latestFirst = access
    .all('pending_settlements')
    .filter(isOf(merchantId, currency))
    .filter((row) => paymentId === null || row.payment_id === paymentId)
    .sort(
      (a, b) => timeOf(b.due_at) - timeOf(a.due_at) || (String(a.payment_id) < String(b.payment_id) ? 1 : -1),
    )
    .slice(0, Number(limit))
  for (const row of latestFirst) access.lock('pending_settlements', row)
  let left = wanted as bigint
  for (const row of latestFirst) {
    const amount = row.amount_minor as bigint
    const taken = amount < left ? amount : left
    if (taken <= 0n) break
    left -= taken
    if (taken === amount) access.remove('pending_settlements', row)
    else access.update('pending_settlements', row, { amount_minor: amount - taken })
  }
  return [{ takenMinor: (wanted as bigint) - left }]
}

function insertLedgerEntry(access: TableAccess, values: readonly unknown[]): Row[] {
  const [merchant_id, id, kind, payment_id, attempt_id, refund_id, currency, lines, at] = values
  access.insert('ledger_entries', { merchant_id, id, kind, payment_id, attempt_id, refund_id, at })
  const postings: { account: string; amount_minor: string }[] = JSON.parse(lines as string)
  post(access, { merchant_id, id, kind, payment_id, currency, at }, postings)
  const positions = postings.map(({ account }, index) => ({ account, position: index + 1 }))
  return positions
    .filter(({ account }) => account === 'available' || account === 'pending')
    .map(({ position }) => ({ position }))
}

function settle(access: TableAccess, [now, limit, ids]: readonly unknown[]): Row[] {
  const due = claim(access, 'pending_settlements', 'due_at', now, limit)
  for (const [index, row] of due.entries()) {
    const { merchant_id, payment_id, currency, amount_minor } = row
    const entry = { merchant_id, id: (ids as string[])[index], kind: 'settlement', payment_id, at: now }
    access.remove('pending_settlements', row)
    access.insert('ledger_entries', entry)
    post(access, { ...entry, currency }, [
      { account: 'pending', amount_minor: String(-(amount_minor as bigint)) },
      { account: 'available', amount_minor: String(amount_minor) },
    ])
  }
  const groups = Map.groupBy(due, (row) => `${row.merchant_id}|${row.currency}`)
  return [...groups.keys()].sort().map((key) => {
    const rows = groups.get(key) ?? []
    const [merchantId, currency] = key.split('|')
    return { merchantId, currency, amountMinor: sum(rows, 'amount_minor'), payments: rows.length }
  })
}

function fold(access: TableAccess, [limit]: readonly unknown[]): Row[] {
  const byId = (a: Row, b: Row) => Number((a.id as bigint) - (b.id as bigint))
  const free = access.all('balance_deltas').filter((row) => access.isUnlocked('balance_deltas', row))
  const taken = free.sort(byId).slice(0, Number(limit))
  for (const delta of taken) access.remove('balance_deltas', delta)
  const groups = Map.groupBy(taken, (row) => `${row.merchant_id}|${row.currency}`)
  for (const key of [...groups.keys()].sort()) foldGroup(access, key, groups.get(key) ?? [])
  return [{ folded: taken.length }]
}

const EMPTY = { available_minor: 0n, pending_minor: 0n, lines: 0n, updated_at: null }

function foldGroup(access: TableAccess, key: string, deltas: readonly Row[]): void {
  const [merchant_id, currency] = key.split('|')
  const known = access.get('balances', key)
  let balance: Row = { ...EMPTY, ...known }
  for (const delta of deltas) {
    const { kind, account, amount_minor, payment_id, entry_id, position } = delta
    const column = account === 'available' ? 'available_minor' : 'pending_minor'
    balance = {
      ...balance,
      [column]: (balance[column] as bigint) + (amount_minor as bigint),
      lines: (balance.lines as bigint) + 1n,
      updated_at: latest(balance.updated_at, delta.at),
    }
    const { available_minor, pending_minor, lines: number, updated_at: created_at } = balance
    access.insert('wallet_lines', {
      ...{ merchant_id, currency, number, kind, account, amount_minor, available_minor, pending_minor },
      ...{ payment_id, entry_id, position, created_at },
    })
  }
  if (known) access.update('balances', known, { ...balance, previous_at: known.updated_at })
  else access.insert('balances', { ...balance, merchant_id, currency })
}

const EVENT_COLUMNS = recordsetColumns((tx) => insertEvents(tx, []))

export function recordEvents(access: TableAccess, [json]: readonly unknown[]): Row[] {
  const events = readRows(json, { created_at: 'date' }, EVENT_COLUMNS)
  for (const event of events) access.insert('events', event)
  return events.map(({ id }) => ({ id }))
}

const never = new Date(0)

export const LEDGER_STATEMENTS = [
  modelStatement(
    'lockDebits',
    (db) => lockDebits(db, ''),
    (access, [merchantId]) => {
      access.lockName(`merchants:${merchantId}`)
      return [{ id: merchantId }]
    },
  ),
  modelStatement('readAvailable', (db) => readAvailable(db, '', 'KES'), available),
  modelStatement('reduceSettlements', (db) => reduceSettlements(db, '', 'KES', null, 0n, 0), takePending),
  modelStatement('insertEntry', (db) => insertEntry(db, { postings: [] } as never), insertLedgerEntry),
  modelStatement('claimDueSettlements', (db) => claimDueSettlements(db, never, 0, () => ''), settle),
  modelStatement('foldDeltas', (db) => foldDeltas(db, 0), fold),
  modelStatement('insertEvents', (db) => insertEvents(db, []), recordEvents),
]
