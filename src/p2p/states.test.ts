import assert from 'node:assert/strict'
import { after, describe, it } from 'node:test'
import fc from 'fast-check'
import { testDatabase } from '../../test/support/database.ts'
import { ApiError } from '../core/errors.ts'
import { isEventType } from '../core/event-types.ts'
import { sql } from '../kit/db/db.ts'
import { planCancel, planConfirm, planExpiry, planMark, planReject, type Step } from './plan.ts'
import { canMove, eventOf, TRANSFER_MOVES, TRANSFER_STATUSES, type TransferStatus } from './states.ts'

const db = await testDatabase({ after })

const selectChecks = sql<{ text: string }>`
select pg_get_constraintdef(oid) as text
from pg_constraint
where conrelid = 'p2p_moves'::regclass and contype = 'c'`

describe('the state machine of a transfer', () => {
  it('is the same as the database constraint on transfer moves', async () => {
    const text = (await db.query(selectChecks)).map((check) => check.text).join('\n')
    const stored = [
      ...text.matchAll(/\(\(?from_status = '(\w+)'::text\) AND \(to_status = '(\w+)'::text\)\)?/g),
    ].map(([, from, to]) => `${from} ${to}`)
    const declared = TRANSFER_STATUSES.flatMap((from) => TRANSFER_MOVES[from].map((to) => `${from} ${to}`))
    assert.deepEqual(stored.toSorted(), declared.toSorted(), text)
  })

  it('has an event type for every transfer state', () => {
    for (const status of TRANSFER_STATUSES) assert.ok(isEventType(eventOf(status)), status)
  })
})

const EXPECTED = 500n
const NOW = new Date('2026-11-14T10:00:00Z')
const anyAction = fc.oneof(
  fc.constant({ name: 'mark' as const }),
  fc.constant({ name: 'reject' as const }),
  fc.constant({ name: 'cancel' as const }),
  fc.constant({ name: 'expiry' as const }),
  fc.record({ name: fc.constant('confirm' as const), receivedMinor: fc.bigInt({ min: 1n, max: 1_000n }) }),
)

interface TransferState {
  status: TransferStatus
  expectedMinor: bigint
  receivedMinor: bigint | null
  dueAt: Date | null
}

function planAction(
  current: TransferState,
  action: typeof anyAction extends fc.Arbitrary<infer Action> ? Action : never,
): Step[] {
  switch (action.name) {
    case 'mark':
      return planMark(current)
    case 'reject':
      return planReject(current)
    case 'cancel':
      return planCancel(current)
    case 'expiry':
      return planExpiry(current, NOW)
    case 'confirm':
      return planConfirm(current, action.receivedMinor)
  }
}

const start = (): TransferState => ({
  status: 'awaiting_payment',
  expectedMinor: EXPECTED,
  receivedMinor: null,
  dueAt: NOW,
})

function applySteps(initial: TransferState, steps: readonly Step[]): TransferState {
  let current = initial
  for (const { to, receivedMinor } of steps) {
    assert.ok(canMove(current.status, to), `${current.status} to ${to}`)
    current = { ...current, status: to, receivedMinor, dueAt: null }
  }
  return current
}

describe('actions on a transfer', () => {
  it('make only transitions of the state machine, and none when repeated', () => {
    fc.assert(
      fc.property(fc.array(anyAction, { maxLength: 12 }), (actions) => {
        let current = start()
        for (const action of actions) {
          let steps: Step[]
          try {
            steps = planAction(current, action)
          } catch (error) {
            if (!(error instanceof ApiError)) throw error
            continue
          }
          current = applySteps(current, steps)
          assert.deepEqual(planAction(current, action), [], `${action.name} again`)
        }
      }),
    )
  })

  it('confirm a transfer as confirmed, underpaid or overpaid by the amount received', () => {
    const confirmed = (receivedMinor: bigint) => applySteps(start(), planConfirm(start(), receivedMinor))
    assert.equal(confirmed(EXPECTED).status, 'confirmed')
    assert.equal(confirmed(EXPECTED - 1n).status, 'underpaid')
    assert.equal(confirmed(EXPECTED + 1n).status, 'overpaid')
    assert.throws(() => planConfirm(confirmed(EXPECTED), EXPECTED + 1n), /is confirmed/)
  })
})
