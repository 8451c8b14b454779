// cowry archive beside a running service: months of history become files, and what stays answers as before. Every invariant
// holds (also checked when the file ends). The larger form has more payments.

import assert from 'node:assert/strict'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, describe, it } from 'node:test'
import { factsOf, readFile as readArchiveFile } from '../../src/archive/file.ts'
import { ArchiveRefused } from '../../src/archive/refusal.ts'
import { columnNames } from '../../src/archive/tables.ts'
import { runCommandLine } from '../../src/cli/program.ts'
import { ENTRY_POINTS } from '../../src/entry-points.ts'
import { sql } from '../../src/kit/db/db.ts'
import { readChange } from '../../src/ledger/change.ts'
import { archiveUntilWritten } from '../support/archive-run.ts'
import { assertInvariants } from '../support/invariants.ts'
import { sized } from '../support/scale.ts'
import { testService } from '../support/service.ts'

const service = await testService({ after }, { isOwn: true, cells: 1 })
const dir = await mkdtemp(join(tmpdir(), 'cowry-archive-'))
after(() => rm(dir, { recursive: true, force: true }))

const PAYMENTS = sized({ quick: 120, rest: 1_000, long: 30_000 })

const env = { DATABASE_URL: service.databaseUrl, COWRY_DATA_DIR: service.dataDir }

async function run(...args: string[]) {
  let out = ''
  const write = (text: string) => {
    out += text
  }
  const terminal = { out: write, err: () => undefined }
  const code = await runCommandLine([...args, '--json'], { entryPoints: ENTRY_POINTS, terminal, env })
  return { code, answer: JSON.parse(out) }
}

/** The month so many before this one. */
function monthOf(ago: number): string {
  const now = new Date()
  return new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() - ago, 1)).toISOString().slice(0, 7)
}

const filled = await run('demo', '--payments', String(PAYMENTS), '--months', '6', '--seed', '3')
assert.equal(filled.code, 0, JSON.stringify(filled.answer))
const api = service.apiWith(filled.answer.data.apiKey)
const merchant: string = filled.answer.data.merchant.uuid
const BEFORE = monthOf(2)
const boundary = new Date(`${BEFORE}-01T00:00:00Z`)

const selectCounts = sql<Record<'events' | 'lines' | 'moves' | 'settlements', number>>`
select
  (select count(*)::integer from events where created_at < $1) as events,
  (select count(*)::integer from wallet_lines where created_at < $1) as lines,
  (select count(*)::integer from moves where at < $1) as moves,
  (select count(*)::integer from ledger_entries where at < $1 and kind = 'settlement') as settlements`

const countOld = async (before = boundary) => {
  const [counts] = await service.db.query(selectCounts, [before])
  assert.ok(counts)
  return counts
}

const selectOldPayment = sql<{ id: string; reference: string; kind: string; status: string }>`
select p.id, p.reference, p.kind, p.status
from payments p
where p.merchant_id = $1 and p.created_at < $2
order by p.created_at
limit 40`

/** What must be the same before and after. */
async function answers() {
  const payments = await service.db.query(selectOldPayment, [merchant, boundary])
  const verified = await Promise.all(
    payments.map(async ({ reference, kind }) => {
      const path = kind === 'charge' ? 'recurring/charges' : 'checkout/payments'
      return (await api.get(`/api/v1/${path}?search=${encodeURIComponent(reference)}`)).body.data
    }),
  )
  const balance = (await api.get('/api/v1/wallet/balance')).body.data.balances
  const report = (await api.get(`/api/v1/reports/collections?from=${monthOf(7)}-01&groupBy=status`)).body.data
  return { verified, balance, report }
}

const purgeDeliveries = `delete from deliveries where created_at < now() - interval '30 days'`
/** Of the oldest event, as if it was replayed just now. */
const insertDelivery = sql<unknown>`
insert into deliveries (
  merchant_id, event_id, endpoint_id, resource_type, resource_id, version, status, finished_at, created_at
)
select
  v.merchant_id, v.id, e.id, v.resource_type, v.resource_id, v.version, 'delivered', now(), v.created_at
from events v
join webhook_endpoints e on e.merchant_id = v.merchant_id
where v.merchant_id = $1
order by v.created_at
limit 1
returning 1`

const countViolations = sql<{ report: Record<string, number> }>`select count_invariants() as report`
const ROLLED_BACK = new Error('rolled back')

/** Which invariants find what the text breaks, by a user whom no trigger stops. It is rolled back. */
async function foundAfter(text: string): Promise<string[]> {
  let found: string[] = []
  const broken = service.db.transaction(async (tx) => {
    await tx.script(`set local session_replication_role = replica; set local enable_seqscan = on; ${text}`)
    const [row] = await tx.query(countViolations)
    found = Object.entries(row?.report ?? {}).flatMap(([name, count]) => (count > 0 ? [name] : []))
    throw ROLLED_BACK
  })
  await assert.rejects(broken, ROLLED_BACK)
  return found
}

/** Makes the run end as a kill after so many steps would. */
async function runKilled(steps: number): Promise<boolean> {
  let left = steps
  const onProgress = () => {
    left -= 1
    if (left === 0) throw ROLLED_BACK
  }
  const before = new Date(`${monthOf(4)}-01T00:00:00Z`)
  const options = { dir, before, exportOnly: false, compact: false, onProgress }
  try {
    await ENTRY_POINTS.archive(env, options)
    return true
  } catch (error) {
    assert.equal(error, ROLLED_BACK)
    return false
  }
}

const selectEvent = sql<{ id: string; createdAt: Date }>`
select id, created_at as "createdAt"
from events
where merchant_id = $1 and created_at < $2
order by created_at desc
limit 1`

const selectPaidPayments = sql<{ id: string; reference: string; currency: string }>`
select id, reference, currency
from payments
where merchant_id = $1 and created_at < $2 and status = 'successful' and kind = 'checkout' and gateway = 'sandbox'
order by created_at
limit 2`

const [oldEvent] = await service.db.query(selectEvent, [merchant, boundary])
assert.ok(oldEvent)
const oldBody = (await api.get(`/api/v1/events/${oldEvent.id}`)).body.data

/** The lines of the archived events, of all months. */
async function* archivedEvents() {
  const { data } = (await run('archive', 'list')).answer
  for (const { file, table } of data as { file: string; table: string }[])
    if (table === 'events') yield* readArchiveFile(join(dir, file), columnNames('events'))
}

describe('cowry archive run', () => {
  it('refuses a month that is not over for a whole month', async () => {
    const { code, answer } = await run('archive', 'run', '--dir', dir, '--before', monthOf(-1))
    assert.equal(code, 1)
    assert.equal(answer.error.code, 'archive_refused')
    assert.equal((await run('archive', 'run', '--dir', dir)).answer.error.code, 'no_boundary')
  })

  it('writes the files of the oldest month first, and deletes nothing with --export-only', async () => {
    await service.db.script(purgeDeliveries)
    assert.equal((await service.db.query(insertDelivery, [merchant])).length, 1)
    const before = await countOld()
    const { code, answer } = await run('archive', 'run', '--dir', dir, '--before', BEFORE, '--export-only')
    assert.equal(code, 0, JSON.stringify(answer))
    assert.deepEqual(await countOld(), before)
    const files: { state: string }[] = (await run('archive', 'list')).answer.data
    assert.deepEqual(
      files.map(({ state }) => state),
      Array(4).fill('exported'),
    )
  })

  it('leaves an exported month that is not before the named one', async () => {
    const before = await countOld()
    const { code, answer } = await run('archive', 'run', '--dir', dir, '--before', monthOf(9))
    assert.deepEqual([code, answer.data], [0, []])
    assert.deepEqual(await countOld(), before)
  })

  it('refuses a cell from which or to which a merchant is moved', async () => {
    const before = await countOld()
    for (const state of ['outgoing', 'closing', 'gone', 'incoming']) {
      await service.db.script(`insert into moving_merchants values ('${merchant}', '${state}', 1)`)
      const { code, answer } = await run('archive', 'run', '--dir', dir, '--before', BEFORE)
      await service.db.script('delete from moving_merchants')
      assert.deepEqual([code, answer.error?.code], [1, 'archive_refused'], state)
    }
    assert.deepEqual(await countOld(), before)
  })

  it('refuses a file that was changed, and deletes nothing', async () => {
    const before = await countOld()
    const { data } = (await run('archive', 'list')).answer
    const path = join(dir, data[0].file)
    const content = await readFile(path)
    await writeFile(path, content.with(content.length - 9, (content.at(-9) ?? 0) ^ 1))
    const { code, answer } = await run('archive', 'run', '--dir', dir, '--before', BEFORE)
    assert.equal(code, 1)
    assert.equal(answer.error.code, 'archive_refused')
    assert.equal((await run('archive', 'verify', dir)).answer.error.code, 'archive_damaged')
    assert.deepEqual(await countOld(), before)
    await writeFile(path, content)
    assert.equal((await run('archive', 'verify', dir)).code, 0)
  })

  it('finds files whose manifest is lost or broken, and a folder that does not exist', async () => {
    const { data } = (await run('archive', 'list')).answer
    const path = join(dir, data[0].file, '..', 'manifest.json')
    const content = await readFile(path)
    const verified = async (folder = dir) => {
      const { code, answer } = await run('archive', 'verify', folder)
      return [code, answer.error?.code]
    }
    await rm(path)
    assert.deepEqual(await verified(), [1, 'archive_damaged'])
    await writeFile(path, content.subarray(0, 40))
    assert.deepEqual(await verified(), [1, 'archive_damaged'])
    await writeFile(path, content)
    assert.deepEqual(await verified(), [0, undefined])
    assert.deepEqual(await verified(join(dir, 'nowhere')), [1, 'invalid_folder'])
  })

  it('goes on where it was killed, at any step, and the invariants hold there', async () => {
    let steps = 1
    while (!(await runKilled(steps))) {
      await assertInvariants(service)
      steps += 1
    }
    assert.ok(steps > 5, `${steps} steps`)
    const left = await countOld(new Date(`${monthOf(4)}-01T00:00:00Z`))
    // One has a delivery. A later archive takes it.
    assert.deepEqual([left.events, left.lines], [1, 0])
    await assertInvariants(service)
    await service.db.script(purgeDeliveries)
  })

  it('refuses a second run, and never replaces the files of one that has deleted', async () => {
    const month = monthOf(3)
    const slow = await archiveUntilWritten(service.databaseUrl, dir, new Date(`${month}-01T00:00:00Z`))
    const archive = () => run('archive', 'run', '--dir', dir, '--before', month)
    const second = await archive()
    assert.deepEqual([second.code, second.answer.error?.code], [1, 'archive_refused'])
    assert.match(JSON.stringify(second.answer), /Another run archives this cell/)
    await slow.loseLock()
    const third = await archive()
    assert.equal(third.code, 0, JSON.stringify(third.answer))
    slow.goOn()
    await assert.rejects(slow.ended, ArchiveRefused)
    const { data } = (await run('archive', 'list')).answer
    for (const { file, sha256 } of data) assert.equal((await factsOf(join(dir, file))).sha256, sha256, file)
    assert.equal((await run('archive', 'verify', dir)).code, 0)
    await assertInvariants(service)
  })

  it('archives every month before the named one; balances, payments and reports stay', async () => {
    const [old, before] = [await countOld(), await answers()]
    assert.ok(old.events > 0 && old.lines > 0 && old.moves > 0 && old.settlements > 0)
    const { code, answer } = await run('archive', 'run', '--dir', dir, '--before', BEFORE)
    assert.equal(code, 0, JSON.stringify(answer))
    const left = await countOld()
    assert.deepEqual([left.events, left.lines], [0, 0])
    assert.ok(left.moves < old.moves && left.settlements < old.settlements, JSON.stringify(left))
    assert.deepEqual(await answers(), before)
    await assertInvariants(service)
    assert.equal((await run('archive', 'verify', dir)).code, 0)
  })
})

describe('what is left after an archive', () => {
  it('cannot be deleted or changed', async () => {
    for (const table of ['events', 'wallet_lines', 'moves', 'ledger_entries', 'postings']) {
      await assert.rejects(service.db.script(`delete from ${table}`), /is append-only/)
      await assert.rejects(service.db.script(`truncate ${table} cascade`), /is append-only/)
      await assert.rejects(
        service.db.script(`update ${table} set merchant_id = merchant_id`),
        /is append-only/,
      )
    }
  })

  it('cannot be deleted with an open archive if it is newer', async () => {
    for (const [name, table] of [
      ['events', 'events'],
      ['wallet_lines', 'wallet_lines'],
      ['moves', 'moves'],
      ['postings', 'ledger_entries'],
    ]) {
      const opened = service.db.transaction(async (tx) => {
        await tx.script(`update archives set is_open = true where table_name = '${name}'`)
        await tx.script(`delete from ${table}`)
      })
      await assert.rejects(opened, /not archived|violates foreign key/)
    }
  })

  const at = `'${boundary.toISOString()}'`
  const one = (table: string, condition: string) =>
    `delete from ${table} where ctid = (select ctid from ${table} where ${condition} limit 1)`
  const BREAKS: readonly [what: string, text: string, finds: string][] = [
    [
      'an event after the boundary',
      one('events', `created_at >= ${at} and resource_type = 'payment'`),
      'invariant_i09_one_event_per_move',
    ],
    [
      'an event of a refund after the boundary',
      one('events', `created_at >= ${at} and resource_type = 'refund'`),
      'invariant_i09_one_event_per_refund_move',
    ],
    ['a move after the boundary', one('moves', `at >= ${at}`), 'invariant_i09_one_event_per_move'],
    [
      'the last move of an archived payment',
      one('moves', `at < ${at} and (payment_id, version) in (select id, version from payments)`),
      'invariant_i08_history_is_a_path',
    ],
    [
      'a statement line',
      one('wallet_lines', `created_at >= ${at}`),
      'invariant_i03_statement_matches_postings',
    ],
    [
      'a posting before the boundary',
      one('postings', `account = 'pending'`),
      'invariant_i03_balances_match_postings',
    ],
    [
      'the carried balance',
      'update archived_lines set pending_minor = pending_minor + 1',
      'invariant_i03_statement_matches_postings',
    ],
    [
      'the carried sums',
      'update archived_sums set amount_minor = amount_minor + 1',
      'invariant_i03_balances_match_postings',
    ],
    [
      'the number of carried postings',
      `update archived_sums set postings = postings + 1 where account = 'pending'`,
      'invariant_i03_statement_matches_postings',
    ],
    [
      'the number of carried events',
      'update archived_versions set events = events + 1',
      'invariant_i09_one_event_per_refund_move',
    ],
  ]
  for (const [what, text, finds] of BREAKS)
    it(`is checked by the invariants: ${what}`, async () => {
      const found = await foundAfter(text)
      assert.ok(found.includes(finds), `found by ${found.join(', ')}`)
    })

  it('says that an event is archived, and does not replay it', async () => {
    const archived = /Events before .* are archived/
    for (const path of ['', '/deliveries']) {
      const { http, body } = await api.get(`/api/v1/events/${oldEvent.id}${path}`)
      assert.deepEqual([http, body.error.code], [404, 'event_not_found'])
      assert.match(body.message, archived)
    }
    const replay = await api.post(`/api/v1/events/${oldEvent.id}/replay`, {})
    assert.deepEqual([replay.http, replay.body.error.code], [404, 'event_not_found'])
    assert.match(replay.body.message, archived)
    const period = { from: `${monthOf(6)}-01T00:00:00Z`, to: boundary.toISOString() }
    const { http, body } = await api.post('/api/v1/events/replay', period)
    assert.deepEqual([http, body.error.code], [409, 'invalid_state'])
    assert.match(body.message, archived)
  })

  it('has every event as it was in the files', async () => {
    const [id, body] = ['id', 'body'].map((name) => columnNames('events').indexOf(name))
    assert.ok(id !== undefined && body !== undefined)
    const found: unknown[] = []
    for await (const cells of archivedEvents())
      if (cells[id] === oldEvent.id) found.push(JSON.parse(cells[body] ?? ''))
    assert.deepEqual(found, [oldBody])
  })

  it('says in lists that earlier rows are archived, where they would be', async () => {
    for (const path of ['/api/v1/events', '/api/v1/wallet/transactions']) {
      const metaOf = async (query: string) => (await api.get(`${path}?limit=1${query}`)).body.meta
      assert.equal((await metaOf('&sort=createdAt:asc')).archivedBefore, boundary.toISOString())
      assert.equal('archivedBefore' in (await metaOf('')), false)
      const later = `&sort=createdAt:asc&createdFrom=${boundary.toISOString()}`
      assert.equal('archivedBefore' in (await metaOf(later)), false)
      const { archivedBefore, total } = await metaOf(`&createdTo=${oldEvent.createdAt.toISOString()}`)
      assert.deepEqual([archivedBefore, total], [boundary.toISOString(), 0])
    }
    const [payment] = await service.db.query(selectPaidPayments, [merchant, boundary])
    const timeline = await api.get(`/api/v1/payments/${payment?.id}/timeline`)
    assert.equal(timeline.body.meta.archivedBefore, boundary.toISOString())
  })

  it('begins the statement as a file with the balances that were carried forward', async () => {
    const path = '/api/v1/wallet/transactions/export?currency=NGN'
    const cellsOf = async (query: string) =>
      (await api.get(`${path}${query}`)).text.split('\r\n').map((line) => line.split(','))
    const [, carried = [], first = []] = await cellsOf('')
    assert.deepEqual([carried[2], carried[5]], ['"archived"', '"NGN"'])
    assert.equal(Number(first[0]?.slice(1, -1)), Number(carried[0]?.slice(1, -1)) + 1)
    const [, later = []] = await cellsOf(`&createdFrom=${boundary.toISOString()}`)
    assert.deepEqual(later, first)
    const [, earlier = [], none] = await cellsOf(`&createdTo=${monthOf(4)}-01T00:00:00Z`)
    assert.equal(earlier[2], '"archived"')
    assert.ok(Number(earlier[0]?.slice(1, -1)) < Number(carried[0]?.slice(1, -1)), `${earlier}`)
    assert.ok(`${earlier[1]}` < `${carried[1]}`, `${earlier}`)
    assert.deepEqual(none, [''])
    const [, before] = await cellsOf(`&createdTo=${monthOf(12)}-01T00:00:00Z`)
    assert.deepEqual(before, [''])
  })

  it('explains a balance from the boundary on', async () => {
    const range = { currency: 'NGN' } as const
    const all = await readChange(service.db, merchant, range)
    const since = await readChange(service.db, merchant, { ...range, createdFrom: boundary.toISOString() })
    assert.deepEqual([all.since, since.since], [boundary, null])
    assert.deepEqual({ ...all, since: null }, since)
    assert.ok(all.before.number > 0n)
    const sum = (account: string) =>
      (all.sums ?? []).reduce((total, one) => total + (one.account === account ? one.amountMinor : 0n), 0n)
    assert.equal(all.before.availableMinor + sum('available'), all.after.availableMinor)
    assert.equal(all.before.pendingMinor + sum('pending'), all.after.pendingMinor)
    const old = { ...range, createdTo: oldEvent.createdAt.toISOString() }
    assert.deepEqual((await readChange(service.db, merchant, old)).sums, [])
  })

  it('lets archived payments be refunded and disputed', async () => {
    const [refunded, disputed] = await service.db.query(selectPaidPayments, [merchant, boundary])
    assert.ok(refunded && disputed)
    const refund = await api.post('/api/v1/refunds', { paymentReference: refunded.reference })
    assert.equal(refund.http, 201, refund.text)
    const dispute = await api.post(`/api/v1/sandbox/payments/${disputed.reference}/dispute`, {
      outcome: 'lost',
    })
    assert.equal(dispute.body.data?.status, 'reversed', dispute.text)
    await assertInvariants(service)
  })
})
