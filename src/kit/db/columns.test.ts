import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { column, columnTable, type RowOf } from './columns.ts'

const TABLE = columnTable({
  id: column<string>('uuid'),
  amountMinor: column<bigint>('bigint'),
  key: column<string | null>('text', 'gateway_key'),
  createdAt: column<Date>('timestamptz'),
  tokenHash: column<Buffer>('bytea'),
})
type Row = RowOf<typeof TABLE>

describe('a column table', () => {
  it('selects every column under its name in TypeScript', () => {
    assert.equal(
      TABLE.select('p'),
      'p.id, p.amount_minor as "amountMinor", p.gateway_key as "key", p.created_at as "createdAt", p.token_hash as "tokenHash"',
    )
    assert.equal(TABLE.select('', ['id', 'amountMinor']), 'id, amount_minor as "amountMinor"')
  })

  it('selects a joined row and reads it back, or nothing where an outer join found none', () => {
    const { select, read } = TABLE.joined('p', ['id', 'amountMinor'])
    assert.equal(select, 'p.id as "p.id", p.amount_minor as "p.amountMinor"')
    assert.deepEqual(read({ 'p.id': 'a', 'p.amountMinor': 5n, 'q.id': 'b' }), { id: 'a', amountMinor: 5n })
    assert.equal(read({ 'p.id': null, 'p.amountMinor': null }), undefined)
  })

  it('lists the SQL names for an insert', () => {
    assert.equal(TABLE.list(), 'id, amount_minor, gateway_key, created_at, token_hash')
    assert.equal(TABLE.list(['id', 'key'], 'i'), 'i.id, i.gateway_key')
  })

  it('lists names and types for jsonb_to_recordset', () => {
    assert.equal(TABLE.recordset(['id', 'amountMinor']), 'id uuid, amount_minor bigint')
  })

  it('numbers the placeholders and orders the values alike', () => {
    const row: Row = { id: 'a', amountMinor: 5n, key: null, createdAt: new Date(0), tokenHash: Buffer.of(1) }
    assert.equal(TABLE.placeholders(['id', 'key'], 3), '$3, $4')
    assert.deepEqual(TABLE.values(row, ['key', 'amountMinor']), [null, 5n])
    assert.deepEqual(TABLE.values(row), ['a', 5n, null, new Date(0), Buffer.of(1)])
  })

  it('writes a bigint as text, because a JSON number would round it', () => {
    const row: Partial<Row> = { id: 'a', amountMinor: 9_007_199_254_740_993n, key: null }
    assert.deepEqual(TABLE.toRecord(row), { id: 'a', amount_minor: '9007199254740993', gateway_key: null })
  })

  it('writes rows as JSON with their places, and without nulls', () => {
    const rows = [
      { id: 'a"', amountMinor: 9007199254740993n, gateway: null },
      { id: 'b', tokenHash: Buffer.from([0, 171]) },
    ]
    assert.deepEqual(JSON.parse(TABLE.toJson(rows)), [
      { n: 0, id: 'a"', amount_minor: '9007199254740993' },
      { n: 1, id: 'b', token_hash: '\\x00ab' },
    ])
    assert.deepEqual(JSON.parse(TABLE.toJson(rows, ['amountMinor'])), [
      { n: 0, amount_minor: '9007199254740993' },
      { n: 1 },
    ])
    assert.equal(TABLE.toJson([]), '[]')
  })

  it('writes bytes as the text form of bytea, because JSON has no bytes', () => {
    assert.deepEqual(TABLE.toRecord({ tokenHash: Buffer.from([0, 171]) }), { token_hash: '\\x00ab' })
  })
})
