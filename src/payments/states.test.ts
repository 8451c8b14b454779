import assert from 'node:assert/strict'
import { after, describe, it } from 'node:test'
import { testDatabase } from '../../test/support/database.ts'
import { systemClock } from '../kit/clock.ts'
import { sql, sqlStateOf } from '../kit/db/db.ts'
import { systemRandom } from '../kit/random.ts'
import {
  canMove,
  eventType,
  isOpen,
  isUnpaid,
  PAYMENT_MOVES,
  PAYMENT_STATUSES,
  type PaymentStatus,
} from './states.ts'

const PROMISED: Record<string, string[]> = {
  pending: ['processing', 'successful', 'failed', 'abandoned', 'expired'],
  processing: ['pending', 'successful', 'failed', 'abandoned', 'expired'],
  successful: ['partially_refunded', 'refunded', 'disputed', 'reversed'],
  failed: ['successful'],
  abandoned: ['successful'],
  expired: ['successful'],
  partially_refunded: ['refunded', 'disputed'],
  refunded: ['disputed'],
  disputed: ['successful', 'reversed'],
  reversed: [],
}

const PAIRS = PAYMENT_STATUSES.flatMap((from) => PAYMENT_STATUSES.map((to) => [from, to] as const))

describe('the payment state machine', () => {
  it('has exactly the promised moves, and no status moves to itself', () => {
    assert.deepEqual(PAYMENT_MOVES, PROMISED)
    assert.ok(PAYMENT_STATUSES.every((status) => !canMove(status, status)))
  })

  it('names the open statuses, and the unpaid ones that a proven success may still reach', () => {
    assert.deepEqual(PAYMENT_STATUSES.filter(isOpen), ['pending', 'processing'])
    assert.deepEqual(PAYMENT_STATUSES.filter(isUnpaid), [
      'pending',
      'processing',
      'failed',
      'abandoned',
      'expired',
    ])
  })

  it('names the event of a move after the record and the new status', () => {
    assert.equal(eventType('checkout', 'expired'), 'payment.expired')
    assert.equal(eventType('charge', 'processing'), 'charge.processing')
    assert.equal(eventType('checkout', 'partially_refunded'), 'payment.refunded')
  })
})

const db = await testDatabase({ after })
const random = systemRandom(systemClock)
const merchantId = random.uuid()
const paymentId = random.uuid()

const prepare = `
  insert into merchants (id, name, mode, base_currency, created_at, updated_at)
  values ('${merchantId}', 'Shop', 'test', 'USD', now(), now());
  insert into customers (
    merchant_id, id, email, email_key, firstname, lastname, search_text, created_at, updated_at
  )
  values ('${merchantId}', '${merchantId}', 'a@example.com', 'a@example.com', 'A', 'B', 'a', now(), now());
  insert into payments (
    merchant_id, id, kind, reference, status, version, amount_minor, currency, gateway, customer_id, customer_email,
    customer_firstname, customer_lastname, created_at
  )
  values (
    '${merchantId}', '${paymentId}', 'checkout', 'r', 'pending', 1, 100, 'USD', 'sandbox', '${merchantId}',
    'a@example.com', 'A', 'B', now()
  )`

const insertMove = sql<unknown>`
insert into moves (merchant_id, payment_id, version, from_status, to_status, proof, source, at)
values ($1, $2, $3, $4, $5, $6, 'api', now())`

let version = 1

/** Whether the database accepts this move of a payment. */
async function isAccepted(from: string | null, to: string, proof: string | null): Promise<boolean> {
  if (from !== null) version += 1
  try {
    await db.query(insertMove, [merchantId, paymentId, from === null ? 1 : version, from, to, proof])
    return true
  } catch (error) {
    assert.equal(sqlStateOf(error), '23514', String(error))
    return false
  }
}

const proofOf = (to: PaymentStatus) => (to === 'failed' ? 'declined' : 'gateway')

describe('the database checks on moves', () => {
  it('accepts exactly the moves of the state machine, over all 100 pairs', async () => {
    await db.script(prepare)
    assert.equal(PAIRS.length, 100)
    for (const [from, to] of PAIRS) {
      assert.equal(await isAccepted(from, to, proofOf(to)), canMove(from, to), `${from} → ${to}`)
    }
    assert.equal(await isAccepted('pending', 'paid', 'gateway'), false)
  })

  it('rejects a move to failed without proof: a timeout is no proof', async () => {
    for (const proof of [null, 'time', 'customer', 'gateway', 'timeout']) {
      assert.equal(await isAccepted('processing', 'failed', proof), false, String(proof))
    }
    for (const proof of ['declined', 'not_sent', 'page_lost', 'expired_verified']) {
      assert.equal(await isAccepted('processing', 'failed', proof), true, proof)
    }
  })

  it('accepts a move to successful only with the gateway’s proof or after a won dispute', async () => {
    for (const from of ['pending', 'processing', 'failed', 'abandoned', 'expired']) {
      for (const proof of [null, 'time', 'customer', 'declined']) {
        assert.equal(await isAccepted(from, 'successful', proof), false, `${from} by ${proof}`)
      }
    }
    assert.equal(await isAccepted('disputed', 'successful', null), true)
  })

  it('accepts a move without a previous status only as version 1', async () => {
    assert.equal(await isAccepted(null, 'pending', null), true)
    await assert.rejects(db.query(insertMove, [merchantId, paymentId, 99_999, null, 'pending', null]), {
      code: '23514',
    })
  })

  it('lets the status of a payment change along the same moves only, without a row of moves too', async () => {
    const update = (status: string) =>
      `update payments set status = '${status}' where merchant_id = '${merchantId}';`
    const trigger = (action: string) => `alter table payments ${action} trigger payments_follow_the_moves;`
    const rollBack = new Error('rolled back')
    for (const [from, to] of PAIRS) {
      const change = db.transaction(async (tx) => {
        await tx.script(`${trigger('disable')}${update(from)}${trigger('enable')}`)
        await tx.script(update(to))
        throw rollBack
      })
      const expected = from === to || canMove(from, to) ? rollBack : /a payment cannot move from/
      await assert.rejects(change, expected, `${from} → ${to}`)
    }
  })

  it('rejects the statuses of a checkout for a charge', async () => {
    const toCharge = (status: string) =>
      db.script(
        `update payments set kind = 'charge', status = '${status}' where merchant_id = '${merchantId}'`,
      )
    for (const status of ['pending', 'abandoned', 'expired']) {
      await assert.rejects(toCharge(status), { code: '23514' }, status)
    }
    await assert.rejects(toCharge('paid'), { code: '23514' })
  })

  it('rejects updates, deletes and truncates of moves', async () => {
    for (const statement of ['update moves set reason = null', 'delete from moves', 'truncate moves']) {
      await assert.rejects(db.script(statement), /moves is append-only/, statement)
    }
  })
})
