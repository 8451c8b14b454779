import assert from 'node:assert/strict'
import { it } from 'node:test'
import { renderComparison } from './against-report.ts'

it('two commits are compared by the ratio of each figure', () => {
  const figure = {
    perSecond: [600, 400] as [number, number],
    ratio: 1.5,
    lowestRatio: 1.4,
    aloneMs: [6, 12] as [number, number],
    openPerSecond: 200,
    openP50Ms: [5, 20] as [number, number],
    openP99Ms: [30, 40] as [number, number],
    serviceCpu: [800, 1_000] as [number, number],
    databaseCpu: [900, 1_000] as [number, number],
  }
  const wal = {
    bytes: 7_000,
    fullPageBytes: 0,
    indexEntries: 40,
    hotShare: 0.5,
    checkpoints: 0,
    storedBytes: 3_000,
  }
  const text = renderComparison({
    against: 'abc1234',
    plan: { rounds: 3, connections: 24, seconds: 1 },
    figures: { charges: figure, initiates: figure, verify: figure, wallet: figure, customerList: figure },
    wal: [wal, { ...wal, bytes: 10_000, storedBytes: 4_000 }],
  })
  assert.match(text, /^charges +600 +400 +1\.5 +1\.4 +800 +1000 +0\.8 +900 +1000 +0\.9$/m)
  assert.match(text, /^charges +6 +12 +0\.5 +200 +5 +20 +0\.25 +30 +40 +0\.75$/m)
  assert.match(text, /WAL 0\.7 times, stored bytes 0\.75 times$/m)
})
