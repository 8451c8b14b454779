import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { Room } from './place-queries.ts'
import { admissionOf } from './places.ts'

const room = (changes: Partial<Room>): Room => ({
  maxPayments: 2,
  isOver: false,
  paid: 0n,
  taken: 0n,
  isOwn: false,
  ...changes,
})

describe('whether a payment is let through', () => {
  it('depends on who has paid, who is paying and what the merchant wants', () => {
    const cases: [Partial<Room>, string][] = [
      [{}, 'admitted'],
      [{ taken: 1n, paid: 1n }, 'admitted'],
      [{ taken: 2n, paid: 1n }, 'busy'],
      [{ taken: 2n }, 'busy'],
      [{ taken: 2n, paid: 2n }, 'ended'],
      [{ taken: 3n, paid: 3n }, 'ended'],
      [{ taken: 2n, isOwn: true }, 'admitted'],
      [{ maxPayments: null, taken: 1_000n, paid: 900n }, 'admitted'],
      [{ isOver: true }, 'ended'],
      [{ isOver: true, isOwn: true, taken: 1n }, 'admitted'],
    ]
    for (const [changes, admission] of cases)
      assert.equal(admissionOf(room(changes)), admission, JSON.stringify(Object.keys(changes)))
    assert.equal(admissionOf(undefined), 'ended')
  })
})
