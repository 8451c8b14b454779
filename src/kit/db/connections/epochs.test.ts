import assert from 'node:assert/strict'
import { EventEmitter } from 'node:events'
import { describe, it } from 'node:test'
import type pg from 'pg'
import { createConnectionEpochs } from './epochs.ts'

/** A pool whose connections record their statements. Each use takes the next connection in turn. */
function fakePool(connections: number, fails: (text: string) => boolean = () => false) {
  const released: unknown[] = []
  const sent = Array.from({ length: connections }, (): string[] => [])
  const clients = sent.map((texts) => ({
    query: async ({ text }: { text: string }) => {
      texts.push(text)
      if (fails(text)) throw new Error('no connection')
      return { rows: [{ is_read_only: false, is_distributed: false }] }
    },
    release: (broken: unknown) => released.push(broken),
  }))
  let uses = 0
  const connect = async () => {
    const client = clients[uses % connections]
    if (uses < connections) events.emit('connect', client)
    uses += 1
    return client
  }
  const events: EventEmitter = Object.assign(new EventEmitter(), { connect })
  // A boundary: the epochs use nothing else of a pool.
  return { pool: events as unknown as pg.Pool, sent, released }
}

const discards = (texts: readonly string[]) => texts.filter((text) => text === 'discard plans').length

describe('the plans of a pool', () => {
  it('are made anew on every connection as the pool is used, ever more rarely', async () => {
    const { pool, sent } = fakePool(4)
    const { acquire } = createConnectionEpochs(pool, 1_000)
    const counts: number[] = []
    for (let use = 1; use <= 1_024; use += 1) {
      await acquire()
      if ([8, 32, 128, 1_024].includes(use)) counts.push(Math.max(...sent.map(discards)))
    }
    assert.deepEqual(counts, [0, 2, 6, 11])
    for (const texts of sent) assert.equal(discards(texts), 11)
  })

  it('drops a connection that fails meanwhile', async () => {
    const { pool, released } = fakePool(1, (text) => text === 'discard plans')
    const { acquire } = createConnectionEpochs(pool, 1_000)
    for (let use = 1; use < 16; use += 1) await acquire()
    await assert.rejects(acquire(), /no connection/)
    assert.deepEqual(released, [true])
  })
})
