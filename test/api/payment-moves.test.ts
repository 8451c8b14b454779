// The changes of a payment's status are its moves, from version 2 on. Payments from before migration 0084 have a move
// of version 1 too. Every invariant holds (also checked when the file ends).

import assert from 'node:assert/strict'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, describe, it } from 'node:test'
import { ENTRY_POINTS } from '../../src/entry-points.ts'
import { sql } from '../../src/kit/db/db.ts'
import { chargeBody, initiateBody, payWith } from '../support/builders.ts'
import { frozenClock } from '../support/fake-clock.ts'
import { assertInvariants } from '../support/invariants.ts'
import { movesOf } from '../support/payment-records.ts'
import { testService } from '../support/service.ts'

const clock = frozenClock(new Date(Date.now() - 110 * 86_400_000))
const service = await testService({ after }, { isOwn: true, cells: 1, clock })
const { api, db } = service

const paid = await payWith(api, 'card_success')
const token = paid.paymentMethod.recurringToken
const charged = (await api.post('/api/v1/charges/recurring', chargeBody(token))).body.data
const initiate = async () =>
  (await api.post('/api/v1/checkout/initiate-payment', initiateBody())).body.data.uuid
const open = await initiate()
const cancelled = await initiate()
await api.post(`/api/v1/checkout/payments/${cancelled}/cancel`, {})

/** As these payments would be written by a version before the migration. */
const OLD_MOVES = `
insert into moves (merchant_id, payment_id, version, to_status, reason, source, attempt_id, at)
select
  p.merchant_id, p.id, 1, case p.kind when 'charge' then 'processing' else 'pending' end,
  case p.kind when 'charge' then 'outcome_unknown' end, 'api', a.id, p.created_at
from payments p
left join attempts a on a.merchant_id = p.merchant_id and a.payment_id = p.id and a.number = 1 and p.kind = 'charge';`

const countViolations = sql<{ report: Record<string, number> }>`select count_invariants() as report`
const ROLLED_BACK = new Error('rolled back')

/** Which invariants find what the text breaks, by a user whom no trigger stops. It is rolled back. */
async function foundAfter(text: string): Promise<string[]> {
  let found: string[] = []
  const broken = db.transaction(async (tx) => {
    await tx.script(`set local session_replication_role = replica; ${text}`)
    const [row] = await tx.query(countViolations)
    found = Object.entries(row?.report ?? {}).flatMap(([name, count]) => (count > 0 ? [name] : []))
    throw ROLLED_BACK
  })
  await assert.rejects(broken, ROLLED_BACK)
  return found.filter((name) => name === PATH || name === EVENTS)
}

const PATH = 'invariant_i08_history_is_a_path'
const EVENTS = 'invariant_i09_one_event_per_move'

const BREAKS: readonly [what: string, text: string, finds: readonly string[]][] = [
  ['a payment without its first event', `delete from events where resource_id = '${open}'`, [EVENTS]],
  [
    'an event without a move',
    `update events set version = 9 where resource_id = '${paid.uuid}' and version = 3`,
    [EVENTS],
  ],
  [
    'a payment without its second move',
    `delete from moves where payment_id = '${paid.uuid}' and version = 2`,
    [PATH, EVENTS],
  ],
  [
    'a payment without its second move and event',
    `delete from moves where payment_id = '${paid.uuid}' and version = 2;
    delete from events where resource_id = '${paid.uuid}' and version = 2`,
    [PATH],
  ],
  [
    'a payment without its last move and event',
    `delete from moves where payment_id = '${charged.uuid}' and version = 2;
    delete from events where resource_id = '${charged.uuid}' and version = 2`,
    [PATH],
  ],
  [
    'a move beyond the version',
    `update payments set version = 1, status = 'processing' where id = '${charged.uuid}'`,
    [PATH],
  ],
  [
    'a first status of another kind',
    `update payments set status = 'processing' where id = '${open}'`,
    [PATH],
  ],
  [
    'a second move from a status of another kind',
    `update moves set from_status = 'processing' where payment_id = '${cancelled}' and version = 2`,
    [PATH],
  ],
]

describe('the invariants of moves', () => {
  it('hold with and without moves of version 1', async () => {
    assert.deepEqual(await foundAfter(''), [])
    assert.deepEqual(await foundAfter(OLD_MOVES), [])
  })

  for (const [what, text, finds] of BREAKS)
    it(`find ${what}`, async () => {
      assert.deepEqual((await foundAfter(text)).toSorted(), finds)
      assert.deepEqual((await foundAfter(OLD_MOVES + text)).toSorted(), finds)
    })
})

const selectFirstMoves = sql<{ id: string }>`
select payment_id as id
from moves
where version = 1`

describe('cowry archive run', () => {
  it('archives moves of version 1 with the others, and the timeline still begins with the payment', async (t) => {
    const dir = await mkdtemp(join(tmpdir(), 'cowry-archive-'))
    t.after(() => rm(dir, { recursive: true, force: true }))
    const createdEntry = async () => {
      const { data } = (await api.get(`/api/v1/payments/${paid.uuid}/timeline`)).body
      return data.find(({ type }: { type: string }) => type === 'status_changed')
    }
    const created = await createdEntry()
    await db.script(OLD_MOVES)
    assert.equal((await db.query(selectFirstMoves, [])).length, 4)
    // Reading the statement folds.
    await api.get('/api/v1/wallet/transactions')
    const now = new Date()
    const before = new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() - 2, 1))
    await ENTRY_POINTS.archive(
      { DATABASE_URL: service.databaseUrl, COWRY_DATA_DIR: service.dataDir },
      { dir, before, exportOnly: false, compact: false, onProgress: () => undefined },
    )
    await assertInvariants(service)
    // The payment is open.
    assert.deepEqual(await db.query(selectFirstMoves, []), [{ id: open }])
    assert.deepEqual(
      (await movesOf(db, paid.uuid)).map(({ version }) => version),
      [3],
    )
    assert.deepEqual(await createdEntry(), created)
    assert.equal(created.message, 'The payment was created with status pending.')
  })
})
