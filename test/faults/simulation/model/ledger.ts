// What is read and written of the ledger beside the entries of moves, and the outbox.

import { insertEvents } from '../../../../src/events/queries.ts'
import {
  insertEntry,
  lockBalance,
  readAvailable,
  reduceSettlements,
} from '../../../../src/ledger/debit-queries.ts'
import { claimDueSettlements } from '../../../../src/ledger/queries.ts'
import { foldDeltas } from '../../../../src/ledger/statement-queries.ts'
import { post } from './moves.ts'
import { claim, latest, modelled, readRows, timeOf } from './statement.ts'
import type { Hands, Row } from './store.ts'

const sum = (rows: readonly Row[], column: string) =>
  rows.reduce((total, row) => total + (row[column] as bigint), 0n)

const isOf = (merchantId: unknown, currency: unknown) => (row: Row) =>
  row.merchant_id === merchantId && row.currency === currency

function available(hands: Hands, [merchantId, currency]: readonly unknown[]): Row[] {
  const folded = hands.all('balances').filter(isOf(merchantId, currency))
  const deltas = hands.all('balance_deltas').filter(isOf(merchantId, currency))
  const unfolded = deltas.filter(({ account }) => account === 'available')
  return [{ availableMinor: sum(folded, 'available_minor') + sum(unfolded, 'amount_minor') }]
}

function take(hands: Hands, [merchantId, currency, paymentId, wanted, limit]: readonly unknown[]): Row[] {
  const latestFirst = hands
    .all('pending_settlements')
    .filter(isOf(merchantId, currency))
    .filter((row) => paymentId === null || row.payment_id === paymentId)
    .sort(
      (a, b) => timeOf(b.due_at) - timeOf(a.due_at) || (String(a.payment_id) < String(b.payment_id) ? 1 : -1),
    )
    .slice(0, Number(limit))
  for (const row of latestFirst) hands.lock('pending_settlements', row)
  let left = wanted as bigint
  for (const row of latestFirst) {
    const amount = row.amount_minor as bigint
    const taken = amount < left ? amount : left
    if (taken <= 0n) break
    left -= taken
    if (taken === amount) hands.remove('pending_settlements', row)
    else hands.update('pending_settlements', row, { amount_minor: amount - taken })
  }
  return [{ takenMinor: (wanted as bigint) - left }]
}

function enter(hands: Hands, values: readonly unknown[]): Row[] {
  const [merchant_id, id, kind, payment_id, attempt_id, refund_id, currency, lines, at] = values
  hands.insert('ledger_entries', { merchant_id, id, kind, payment_id, attempt_id, refund_id, at })
  post(hands, { merchant_id, id, kind, payment_id, currency, at }, JSON.parse(lines as string))
  return []
}

function settle(hands: Hands, [now, limit, ids]: readonly unknown[]): Row[] {
  const due = claim(hands, 'pending_settlements', 'due_at', now, limit)
  for (const [index, row] of due.entries()) {
    const { merchant_id, payment_id, currency, amount_minor } = row
    const entry = { merchant_id, id: (ids as string[])[index], kind: 'settlement', payment_id, at: now }
    hands.remove('pending_settlements', row)
    hands.insert('ledger_entries', entry)
    post(hands, { ...entry, currency }, [
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

function fold(hands: Hands, [limit]: readonly unknown[]): Row[] {
  const byId = (a: Row, b: Row) => Number((a.id as bigint) - (b.id as bigint))
  const free = hands.all('balance_deltas').filter((row) => hands.isFree('balance_deltas', row))
  const taken = free.sort(byId).slice(0, Number(limit))
  for (const delta of taken) hands.remove('balance_deltas', delta)
  const groups = Map.groupBy(taken, (row) => `${row.merchant_id}|${row.currency}`)
  for (const key of [...groups.keys()].sort()) foldGroup(hands, key, groups.get(key) ?? [])
  return [{ folded: taken.length }]
}

const EMPTY = { available_minor: 0n, pending_minor: 0n, lines: 0n, updated_at: null }

function foldGroup(hands: Hands, key: string, deltas: readonly Row[]): void {
  const [merchant_id, currency] = key.split('|')
  const known = hands.get('balances', key)
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
    hands.insert('wallet_lines', {
      ...{ merchant_id, currency, number, kind, account, amount_minor, available_minor, pending_minor },
      ...{ payment_id, entry_id, position, created_at },
    })
  }
  if (known) hands.update('balances', known, { ...balance, previous_at: known.updated_at })
  else hands.insert('balances', { ...balance, merchant_id, currency })
}

export function tell(hands: Hands, [json]: readonly unknown[]): Row[] {
  for (const event of readRows(json, { created_at: 'date' })) hands.insert('events', event)
  return []
}

const never = new Date(0)

export const LEDGER_STATEMENTS = [
  modelled(
    'lockBalance',
    (db) => lockBalance(db, '', 'KES'),
    (hands, [merchantId, currency]) => {
      hands.lockName(`money:${merchantId}:${currency}`)
      return [{ pg_advisory_xact_lock: '' }]
    },
  ),
  modelled('readAvailable', (db) => readAvailable(db, '', 'KES'), available),
  modelled('reduceSettlements', (db) => reduceSettlements(db, '', 'KES', null, 0n, 0), take),
  modelled('insertEntry', (db) => insertEntry(db, { postings: [] } as never), enter),
  modelled('claimDueSettlements', (db) => claimDueSettlements(db, never, 0, () => ''), settle),
  modelled('foldDeltas', (db) => foldDeltas(db, 0), fold),
  modelled('insertEvents', (db) => insertEvents(db, []), tell),
]
