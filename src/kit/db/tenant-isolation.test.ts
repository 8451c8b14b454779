import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { after, describe, it } from 'node:test'
import pg from 'pg'
import { NO_POOLER, testDatabaseUrl } from '../../../test/support/database.ts'
import { dropDatabase, runAsAdmin, withDatabase } from '../../../test/support/template.ts'
import { scopeOf } from './connections/tenant-query.ts'
import { connectDb, type Statement, sqlStateOf, type Tx } from './db.ts'
import { migrate } from './migrate.ts'
import {
  applyRowLevelSecurity,
  assertSameTenant,
  iterateAsMerchant,
  requestScoped,
  runAsMerchant,
} from './tenant-isolation.ts'

const url = await testDatabaseUrl({
  after: (work) => after(() => Promise.all([unscopedDb.close(), distributedDb.close()]).then(work)),
})
// Two connections, so that every test meets the session state that others have left.
const unscopedDb = connectDb({ url, poolSize: 2 })
const [ONE, TWO] = ['0197a3c2-0000-7000-8000-000000000001', '0197a3c2-0000-7000-8000-000000000002'] as const

let statements = 0
/** A statement that is used only here. */
function statement<Row>(text: string): Statement<Row> {
  statements += 1
  return { name: `of_this_test_${statements}`, text }
}

/** Concurrent ones share a round trip. */
const sharedStatement = <Row>(text: string): Statement<Row> => ({ ...statement<Row>(text), isShared: true })

await unscopedDb.script(`
  insert into merchants (id, name, mode, created_at, updated_at)
  values ('${ONE}', 'One', 'test', now(), now()), ('${TWO}', 'Two', 'test', now(), now());
  insert into customers (merchant_id, id, email, email_key, firstname, lastname, search_text, created_at, updated_at)
  select m.id, gen_random_uuid(), 'a@example.com', 'a@example.com', m.name, 'X', m.name, now(), now()
  from merchants m`)

const selectNames = statement<{ name: string }>('select firstname as name from customers order by 1')
const selectRole = statement<{ role: string; merchant: string | null }>(
  `select current_setting('role') as role, current_setting('app.merchant_id', true) as merchant`,
)
const namesFor = async (db: Tx) => (await db.query(selectNames)).map(({ name }) => name).join(' ')

const isRefused = (error: unknown) => sqlStateOf(error) === '42501'

// A setting of Citus marks a server that has it, where settings reach the rows only inside a begun transaction.
const DISTRIBUTED_URL = `${url}?options=-ccitus.propagate_set_commands%3Dlocal`
const distributedDb = connectDb({ url: DISTRIBUTED_URL, poolSize: 2 })

for (const { kind, address, db, needs } of [
  { kind: 'on a plain server', address: url, db: unscopedDb, needs: {} },
  // A pooler takes no options.
  {
    ...{ kind: 'on a server that distributes schemas', needs: NO_POOLER },
    ...{ address: DISTRIBUTED_URL, db: distributedDb },
  },
])
  describe(`row-level security of statements ${kind}`, needs, () => {
    it('shows a merchant its own rows, with and without a transaction, and the service all rows', async () => {
      assert.equal(await namesFor(db.forMerchant(ONE)), 'One')
      assert.equal(await namesFor(db.forMerchant(TWO)), 'Two')
      assert.equal(await db.forMerchant(ONE).transaction(namesFor), 'One')
      assert.equal(await namesFor(db), 'One Two')
      assert.equal(await db.transaction(namesFor), 'One Two')
    })

    it('separates concurrent merchants on the same connections', async () => {
      const handles = Array.from(
        { length: 60 },
        (_, number) => [db, db.forMerchant(ONE), db.forMerchant(TWO)][number % 3],
      )
      const seen = await Promise.all(handles.map((one) => namesFor(one ?? db)))
      assert.deepEqual(
        seen,
        handles.map((_, number) => ['One Two', 'One', 'Two'][number % 3]),
      )
    })

    it('separates merchants whose reads share a round trip', async () => {
      const read = sharedStatement<{ name: string; at: string }>(
        'select firstname as name, now()::text as at from customers',
      )
      const merchants = Array.from({ length: 60 }, (_, number) => (number % 3 === 0 ? TWO : ONE))
      const seen = await Promise.all(merchants.map((id) => db.forMerchant(id).query(read)))
      assert.deepEqual(
        seen.map((rows) => rows.map(({ name }) => name)),
        merchants.map((id) => [id === ONE ? 'One' : 'Two']),
      )
      // On each of the two connections the first read, which is not prepared yet, and the others.
      const transactions = new Set(seen.flat().map(({ at }) => at))
      assert.ok(transactions.size <= 4, `${transactions.size} transactions`)
      assert.equal(await namesFor(db), 'One Two')
    })

    it('shares no read of the service itself, and reads the same values as alone', async () => {
      const text = `
        select 9007199254740993 as big, null as nothing, now() - now() = '0' as yes, $1::timestamptz as at, '{"a":1}'::jsonb as json`
      const read = sharedStatement<object>(text)
      const values = ['2026-03-14T09:26:53.589Z']
      const alone = await db.query(statement<object>(text), values)
      assert.deepEqual(await db.query(read, values), alone)
      for (let times = 0; times < 3; times += 1)
        assert.deepEqual(await db.forMerchant(ONE).query(read, values), alone)
      assert.equal(await namesFor(db), 'One Two')
    })

    it('reads once for equal reads of a merchant that wait together, and again for a later one', async () => {
      const read = sharedStatement<{ at: string }>('select clock_timestamp()::text || $1 as at')
      const timeFor = async (id: string, value: string) =>
        (await db.forMerchant(id).query(read, [value]))[0]?.at
      for (let times = 0; times < 3; times += 1) {
        const reads = [ONE, ONE, TWO, ONE, TWO].map((id) => timeFor(id, 'a'))
        const [first, second, other, third, otherAgain] = await Promise.all(reads)
        assert.deepEqual([second, third, otherAgain], [first, first, other])
        const all = new Set([first, other, await timeFor(ONE, 'b'), await timeFor(ONE, 'a')])
        assert.equal(all.size, 4)
      }
    })

    it('returns the rows of the last equal read until a value changes', async () => {
      const read = sharedStatement<{ name: string }>('select firstname as name from customers order by 1')
      const rowsOf = (id: string) => db.forMerchant(id).query(read)
      // Each connection prepares it once.
      for (let times = 0; times < 3; times += 1) await Promise.all([rowsOf(ONE), rowsOf(TWO)])
      const rows = await rowsOf(ONE)
      assert.equal(await rowsOf(ONE), rows)
      assert.notEqual(await rowsOf(TWO), rows)
      assert.throws(() => rows.push({ name: 'Eve' }), TypeError)
      assert.throws(() => Object.assign(rows[0] ?? {}, { name: 'Eve' }), TypeError)
      await db.script(`update customers set firstname = 'Uno' where firstname = 'One'`)
      assert.deepEqual(await rowsOf(ONE), [{ name: 'Uno' }])
      await db.script(`update customers set firstname = 'One' where firstname = 'Uno'`)
      assert.deepEqual(await rowsOf(ONE), [{ name: 'One' }])
      assert.deepEqual(rows, [{ name: 'One' }])
    })

    it('does not keep the rows of a large reply', async () => {
      const read = sharedStatement<{ text: string }>(`select repeat('a', $1::integer) as text`)
      const rowsOf = (length: string) => db.forMerchant(ONE).query(read, [length])
      for (let times = 0; times < 3; times += 1) await Promise.all([rowsOf('1'), rowsOf('2')])
      assert.equal(await rowsOf('60000'), await rowsOf('60000'))
      const rows = await rowsOf('70000')
      assert.notEqual(await rowsOf('70000'), rows)
      assert.throws(() => rows.push({ text: '' }), TypeError)
    })

    it('reads several keys of a merchant in one statement, and gives each read its own rows', async () => {
      const read = sharedStatement<{ key: string; name: string; at: string }>(`
        select k.key, c.firstname as name, statement_timestamp()::text as at
        from unnest($1::text[]) as k (key)
        join customers c on k.key <> 'none'
        cross join generate_series(1, case k.key when 'two' then 2 else 1 end)`)
      const rowsFor = (id: string, key: string) => db.forMerchant(id).query(read, [[key]])
      await rowsFor(ONE, 'first')
      const strange = ['a"b', 'c\\d', '{e,f}', 'NULL', '', ' g ', 'h\ni', '\u00fc\u{1f600}', "j'k"]
      const keys = [...strange, 'none', 'two', 'first', 'first']
      const reads = keys.flatMap((key) => [
        { id: ONE, name: 'One', key },
        { id: TWO, name: 'Two', key },
      ])
      const all = await Promise.all(reads.map(({ id, key }) => rowsFor(id, key)))
      for (const [index, { name, key }] of reads.entries()) {
        const expected = {
          none: [],
          two: [
            { key, name },
            { key, name },
          ],
        }[key] ?? [{ key, name }]
        assert.deepEqual(
          all[index]?.map(({ at: _, ...row }) => row),
          expected,
        )
      }
      // For each merchant one, and the first of a connection.
      const times = new Set(all.flat().map(({ at }) => at))
      assert.ok(times.size <= 4, `${times.size} statements`)
      await assert.rejects(rowsFor(ONE, 'a\0b'), (error) => sqlStateOf(error) === '22021')
    })

    it('reads again after equal reads have failed together', async () => {
      const read = sharedStatement<{ share: number }>(
        `select 12 / (select count(*) - 1 from merchants where id = $1::uuid)::integer as share`,
      )
      const failing = Array.from({ length: 3 }, () => db.forMerchant(ONE).query(read, [ONE]))
      for (const one of await Promise.allSettled(failing)) assert.equal(one.status, 'rejected')
      assert.deepEqual(await db.forMerchant(ONE).query(read, [TWO]), [{ share: -12 }])
      await assert.rejects(db.forMerchant(ONE).query(read, [ONE]))
    })

    it('fails a read that shares a round trip alone', async () => {
      const read = sharedStatement<{ share: number }>('select 12 / $1::integer as share')
      const divide = (by: string) => db.forMerchant(ONE).query(read, [by])
      const settled = await Promise.allSettled(['1', '2', '0', '3'].map(divide))
      assert.deepEqual(
        settled.map((one) => (one.status === 'fulfilled' ? one.value[0]?.share : sqlStateOf(one.reason))),
        [12, 6, '22012', 4],
      )
      assert.deepEqual(await divide('4'), [{ share: 3 }])
    })

    it('ends with the statement or transaction, also after an error', async () => {
      const broken = statement('select 1 / (count(*) - 1) from customers')
      await db.forMerchant(ONE).query(selectNames)
      await assert.rejects(db.forMerchant(ONE).query(broken), (error) => sqlStateOf(error) === '22012')
      await assert.rejects(
        db.forMerchant(ONE).transaction((tx) => tx.query(broken)),
        (error) => sqlStateOf(error) === '22012',
      )
      const both = await Promise.all([db.query(selectRole), db.query(selectRole)])
      for (const [row] of both) {
        assert.equal(row?.role, 'none')
        assert.ok(!row?.merchant, 'no merchant is left behind')
      }
      assert.equal(await namesFor(db.forMerchant(TWO)), 'Two')
    })

    it(
      'does not keep a statement from being retried that the server could not parse',
      NO_POOLER,
      async () => {
        const early = statement<{ id: number }>('select id from made_later')
        await assert.rejects(db.forMerchant(ONE).query(early), (error) => sqlStateOf(error) === '42P01')
        await db.script('create table made_later (id integer); grant select on made_later to cowry_merchant')
        assert.deepEqual(await db.forMerchant(ONE).query(early), [])
        await db.script('drop table made_later')
      },
    )

    it('separates the values of the statement from its own', async () => {
      const echo = statement<{ a: string; b: bigint; c: null }>(
        'select $1::text as a, $2::bigint as b, $3::text as c',
      )
      assert.deepEqual(await db.forMerchant(ONE).query(echo, ['x', 2n, null]), [{ a: 'x', b: 2n, c: null }])
    })

    it('applies also without prepared statements', async () => {
      const unpreparedDb = connectDb({ url: address, poolSize: 1, preparedStatements: false })
      try {
        assert.equal(await namesFor(unpreparedDb.forMerchant(ONE)), 'One')
        assert.equal(await unpreparedDb.forMerchant(TWO).transaction(namesFor), 'Two')
        const find = statement<{ name: string }>(
          'select firstname as name from customers where firstname <> $1',
        )
        assert.deepEqual(await unpreparedDb.forMerchant(TWO).query(find, ['One']), [{ name: 'Two' }])
        assert.equal(await namesFor(unpreparedDb), 'One Two')
      } finally {
        await unpreparedDb.close()
      }
    })

    it('reports a write whose commit fails, and writes nothing', async () => {
      await db.script(`
        create table later_unique (id integer unique deferrable initially deferred);
        grant select, insert on later_unique to cowry_merchant`)
      const write = statement('insert into later_unique values (1), (1)')
      await assert.rejects(db.forMerchant(ONE).query(write), (error) => sqlStateOf(error) === '23505')
      assert.deepEqual(await db.query(statement('select id from later_unique')), [])
      await db.forMerchant(ONE).query(statement('insert into later_unique values (2)'))
      assert.deepEqual(await db.query(statement('select id from later_unique')), [{ id: 2 }])
      await db.script('drop table later_unique')
    })
  })

describe('row-level security', () => {
  it('covers every table with a merchant id', async () => {
    const tables = statement<{ name: string; isolated: boolean }>(`
      select c.relname as name, c.relrowsecurity and exists (select from pg_policy where polrelid = c.oid) as isolated
      from pg_class c
      join pg_attribute a on a.attrelid = c.oid and a.attname = 'merchant_id'
      where c.relnamespace = 'public'::regnamespace and c.relkind in ('r', 'p') and not c.relispartition`)
    const all = await unscopedDb.query(tables)
    assert.ok(all.length > 25)
    assert.deepEqual(
      all.filter((table) => !table.isolated),
      [],
    )
  })

  it('shows no rows to the tenant role without a merchant', async () => {
    await unscopedDb.transaction(async (tx) => {
      const tables = await tx.query(
        statement<{ name: string }>('select table_name as name from tenant_tables'),
      )
      await tx.script('set local role cowry_merchant')
      for (const { name } of tables) {
        const [row] = await tx.query(
          statement<{ rows: number }>(`select count(*)::integer as rows from ${name}`),
        )
        assert.equal(row?.rows, 0, name)
      }
    })
  })

  it('refuses to write for another merchant', async () => {
    const steal = statement(`update customers set merchant_id = '${TWO}', id = gen_random_uuid()`)
    const give = statement(`
      insert into customers (merchant_id, id, email, email_key, firstname, lastname, search_text, created_at, updated_at)
      values ($1, gen_random_uuid(), 'b@example.com', 'b@example.com', 'B', 'B', 'b', now(), now())`)
    await assert.rejects(unscopedDb.forMerchant(ONE).query(give, [TWO]), isRefused)
    await assert.rejects(
      unscopedDb.forMerchant(ONE).transaction((tx) => tx.query(give, [TWO])),
      isRefused,
    )
    await assert.rejects(unscopedDb.forMerchant(ONE).query(steal), isRefused)
    await assert.rejects(
      unscopedDb.forMerchant(ONE).query(statement('select value from service_secrets')),
      isRefused,
    )
    assert.equal(await namesFor(unscopedDb), 'One Two')
  })

  it('updates and deletes only rows of the merchant, whatever the statement says', async () => {
    await unscopedDb.forMerchant(ONE).query(statement(`update customers set lastname = 'Changed'`))
    await unscopedDb.forMerchant(TWO).query(statement('delete from customers where firstname = $1'), ['One'])
    const rows = await unscopedDb.query(
      statement<{ name: string }>(`select firstname || ' ' || lastname as name from customers order by 1`),
    )
    assert.deepEqual(
      rows.map(({ name }) => name),
      ['One Changed', 'Two X'],
    )
  })

  it('fails a statement whose reply does not arrive in time', async () => {
    const pool = new pg.Pool({ connectionString: url, max: 1 })
    const client = await pool.connect()
    const query = { name: 'slow', text: 'select pg_sleep(1)', query_timeout: 50 }
    await assert.rejects(scopeOf(ONE).send(client, query), /timeout/)
    client.release(true)
    await pool.end()
  })

  it('accepts only the id of a merchant', () => {
    for (const id of ['', `${ONE}'`, "'; reset role; --", ONE.toUpperCase().replace('A', 'G')])
      assert.throws(() => unscopedDb.forMerchant(id), /is a UUID/)
  })
})

describe('the tenant context', () => {
  const db = requestScoped(unscopedDb, { isTenantScoped: true })

  it('is known without being passed as an argument', async () => {
    assert.equal(await runAsMerchant(ONE, () => namesFor(db)), 'One')
    assert.equal(await runAsMerchant(TWO, () => db.transaction(namesFor)), 'Two')
    assert.equal(await namesFor(db), 'One Two')
  })

  it('refuses rows of another merchant at a writer that is not scoped', async () => {
    const write = assertSameTenant((item: { merchantId: string }) => Promise.resolve(item.merchantId))
    assert.equal(await write({ merchantId: TWO }), TWO)
    assert.equal(await runAsMerchant(ONE, () => write({ merchantId: ONE })), ONE)
    await assert.rejects(
      runAsMerchant(ONE, () => write({ merchantId: TWO })),
      /would write for another/,
    )
  })

  it('is kept for parts of a response that are produced later', async () => {
    async function* pieces() {
      for (let number = 0; number < 2; number += 1) yield await namesFor(db)
    }
    const taken: string[] = []
    for await (const piece of iterateAsMerchant(TWO, pieces())) taken.push(piece)
    assert.deepEqual(taken, ['Two', 'Two'])
  })
})

describe('applying row-level security', () => {
  it('finds a table that was added, and a policy that was dropped', async () => {
    await unscopedDb.script(`
      create table added (merchant_id uuid, id uuid);
      alter table customers disable row level security;
      drop policy tenant_isolation on customers;
      revoke insert on payments from cowry_merchant`)
    const report = await unscopedDb.query(
      statement<{ what: string }>('select what from invariant_i15_tenants_are_isolated order by 1'),
    )
    assert.deepEqual([...new Set(report.map(({ what }) => what))], ['added', 'customers', 'payments'])
    assert.deepEqual(await applyRowLevelSecurity(unscopedDb), [])
    assert.equal(await namesFor(unscopedDb.forMerchant(ONE)), 'One')
  })

  it(
    'reports what is missing to a user without the right to create roles, and succeeds once the role exists',
    NO_POOLER,
    async () => {
      const name = `plain_${randomBytes(4).toString('hex')}`
      await runAsAdmin(url, `create role ${name} login password '${name}'`)
      await runAsAdmin(url, `create database ${name} owner ${name}`)
      const login = new URL(withDatabase(url, name))
      login.username = name
      login.password = name
      const plain = connectDb({ url: login.href, poolSize: 2 })
      try {
        await migrate(plain)
        assert.deepEqual(await applyRowLevelSecurity(plain), [
          { what: 'cowry_merchant', why: 'is not a role that this user may set' },
        ])
        assert.equal(await namesFor(plain), '')
        await runAsAdmin(url, `grant cowry_merchant to ${name}`)
        assert.deepEqual(await applyRowLevelSecurity(plain), [])
        assert.equal(await namesFor(plain.forMerchant(ONE)), '')
      } finally {
        await plain.close()
        await dropDatabase(url, name)
        await runAsAdmin(url, `drop role ${name}`)
      }
    },
  )
})
