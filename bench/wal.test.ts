import assert from 'node:assert/strict'
import { it } from 'node:test'
import { figureOf } from './wal.ts'

it('the records of the write-ahead log give the writes of a charge', () => {
  const record = (type: string, count: number) => ({ type, count, bytes: 100 * count, fullPageBytes: count })
  const records = [
    record('Btree/INSERT_LEAF', 40),
    record('Btree/SPLIT_R', 2),
    record('Btree/DEDUP', 7),
    record('Gin/UPDATE_META_PAGE', 4),
    record('Heap/UPDATE', 5),
    record('Heap/UPDATE+INIT', 1),
    record('Heap/HOT_UPDATE', 2),
    record('XLOG/CHECKPOINT_ONLINE', 1),
  ]
  assert.deepEqual(figureOf(records, 2), {
    bytes: 3_100,
    fullPageBytes: 31,
    indexEntries: 23,
    hotShare: 0.25,
    checkpoints: 1,
  })
})
