// Databases that are added to the register of cells: which are refused and why, and what no message repeats.

import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, describe, it } from 'node:test'
import type { Db, Statement } from '../../src/kit/db/db.ts'
import { cellsCommand } from '../support/cells.ts'
import { NO_POOLER, testDatabaseUrl } from '../support/database.ts'
import { eventually, tempFolder } from '../support/process.ts'
import { ADMIN_TOKEN, testService } from '../support/service.ts'
import { connectTestDb } from '../support/test-db.ts'

const service = await testService({ after }, { cells: 2, isOwn: true })
const { admin } = service
const cowry = cellsCommand(service, ADMIN_TOKEN)

const WITHIN_MS = 20_000

interface OwnRow {
  name: string
  number: number
}

const WAITING = `select count(*)::integer as count from pg_locks
where not granted and database = (select oid from pg_database where datname = current_database())`

/** The statement has no name, because it is not one of the service's. */
const query = async <Row>(db: Db, text: string): Promise<Row[]> =>
  db.query({ name: '', text } as Statement<Row>, [])

async function queryOnce<Row>(url: string, text: string): Promise<Row[]> {
  const db = connectTestDb({ url, poolSize: 1 })
  return query<Row>(db, text).finally(() => db.close())
}

describe('a database that is added as a cell', () => {
  it('is refused with other tables, of another instance, or of a cell of another instance', async (t) => {
    const file = join(await tempFolder(t, 'cells'), 'url')
    const merchant = `insert into merchants (id, name, mode, created_at, updated_at)
      values ('${randomUUID()}', 'Theirs', 'test', now(), now())`
    const cell = `insert into cells (number, name, sealed, state, created_at, instance_id)
      values (2, 'west-1', '', 'active', now(), '${randomUUID()}')`
    for (const [script, reason] of [
      [
        'drop schema public cascade; create schema public; create table theirs ()',
        /url is a database with tables/,
      ],
      [merchant, /url is the database of another instance\./],
      [`insert into placement (epoch, instance_id) values (0, '${randomUUID()}')`, /of another instance\./],
      [cell, /url is the database of the cell west-1 of another instance\./],
    ] as const) {
      const url = await testDatabaseUrl(t)
      const theirs = connectTestDb({ url, poolSize: 1 })
      await theirs.script(script).finally(() => theirs.close())
      await writeFile(file, `${url}\n`)
      const { code, out } = await cowry('add', 'west-1', '--url-file', file)
      assert.equal(code, 1)
      assert.match(out, reason)
    }
    assert.doesNotMatch((await cowry('list')).out, /west-1/)
  })

  it('becomes a cell of one of two instances that add it at the same moment', async (t) => {
    const other = await testService(t, { isOwn: true })
    const body = { name: 'both-1', url: await testDatabaseUrl(t) }
    const cell = connectTestDb({ url: body.url, poolSize: 2 })
    const countWaiting = async () => {
      const [row] = await query<{ count: number }>(cell, WAITING)
      return row?.count
    }
    // Both come as far as to the row that says whose cell it is.
    const answers = await cell
      .transaction(async (tx) => {
        await tx.script('lock table cells in share row exclusive mode')
        const both = [admin, other.admin].map((one) => one.post('/admin/v1/cells', body))
        await eventually(countWaiting, (count) => count === 2, WITHIN_MS)
        return { both }
      })
      .then(({ both }) => Promise.all(both))
      .finally(() => cell.close())
    const texts = answers.map(({ text }) => text)
    assert.deepEqual(answers.map(({ http }) => http).toSorted(), [201, 400], texts.join())
    assert.match(texts.join(), /url is the database of the cell both-1 of another instance\./)
    await service.db.script("delete from cells where name = 'both-1'")
  })

  for (const [which, count] of [
    ['one database', 1],
    ['each of two databases', 2],
  ] as const)
    it(`has the name that it was given first: ${which} under one name at the same moment`, async (t) => {
      const name = `same-${count}`
      const urls = [await testDatabaseUrl(t), await testDatabaseUrl(t)].slice(0, count)
      const instance = connectTestDb({ url: service.databaseUrl, poolSize: 2 })
      const countWaiting = async () => (await query<{ count: number }>(instance, WAITING))[0]?.count
      // Both have prepared their database when the first of them comes to the register.
      const answers = await instance
        .transaction(async (tx) => {
          await tx.script('lock table cells in exclusive mode')
          const both = [0, 1].map((index) =>
            admin.post('/admin/v1/cells', { name, url: urls[index % count] }),
          )
          await eventually(countWaiting, (waiting) => waiting === 2, WITHIN_MS)
          return { both }
        })
        .then(({ both }) => Promise.all(both))
        .finally(() => instance.close())
      const texts = answers.map(({ text }) => text).join()
      assert.deepEqual(answers.map(({ http }) => http).toSorted(), [201, 400], texts)
      assert.match(texts, /name is the name of another cell\./)
      const selectRow = `select name, number from cells where name = '${name}'`
      const claims = await Promise.all(urls.map((url) => queryOnce<OwnRow>(url, selectRow)))
      assert.deepEqual(claims.flat(), await query<OwnRow>(service.db, selectRow))
      assert.equal(claims.flat().length, 1)
      await service.db.script(`delete from cells where name = '${name}'`)
    })

  it('is added again after its first addition was cut off, with another number if that is taken', async (t) => {
    const url = await testDatabaseUrl(t)
    const [first, second] = [
      { name: 'cut-1', url },
      { name: 'cut-2', url: await testDatabaseUrl(t) },
    ]
    assert.equal((await admin.post('/admin/v1/cells', first)).http, 201)
    await service.db.script("delete from cells where name = 'cut-1'")
    assert.equal((await admin.post('/admin/v1/cells', second)).http, 201)
    const again = await admin.post('/admin/v1/cells', first)
    assert.equal(again.http, 201, again.text)
    const cell = connectTestDb({ url, poolSize: 1 })
    const numbers = [service.db, cell].map((db) =>
      query<{ number: number }>(db, "select number from cells where name = 'cut-1'"),
    )
    const [[registered], [own]] = (await Promise.all(numbers).finally(() => cell.close())) as [
      [unknown],
      [unknown],
    ]
    assert.ok(registered)
    assert.deepEqual(own, registered)
    await service.db.script("delete from cells where name like 'cut-%'")
  })

  it(
    'is refused with what to grant to a user without the rights, and what is wrong with an address',
    NO_POOLER,
    async (t) => {
      const url = await testDatabaseUrl(t)
      const database = new URL(url).pathname.slice(1)
      const user = `${database}_user`
      const own = new URL(url)
      own.username = user
      own.password = 'hush-2'
      const theirs = connectTestDb({ url, poolSize: 1 })
      const asAdmin = (script: string) => theirs.script(script)
      t.after(async () => {
        await asAdmin(`drop owned by ${user} cascade`).catch(() => undefined)
        await theirs.close()
      })
      const wrong = new URL(own)
      wrong.password = 'hush-3'
      const closed = new URL(own)
      closed.port = '1'
      const EMPTY = 'drop schema if exists sandbox, public cascade; create schema public'
      for (const [script, given, reason] of [
        [
          `create role ${user} login password 'hush-2'`,
          wrong,
          /28P01, because the server refuses this user or password/,
        ],
        ['', closed, /ECONNREFUSED, because no server listens on this host and port/],
        [
          `${EMPTY}; revoke all on schema public from public`,
          own,
          /whose user may not create tables: make it the owner/,
        ],
        [
          `alter schema public owner to ${user}`,
          own,
          /may not create schemas and extensions: make it the owner/,
        ],
        [`alter database ${database} owner to ${user}`, own, /grant cowry_merchant to the user\./],
      ] as const) {
        if (script !== '') await asAdmin(script)
        const answer = await admin.post('/admin/v1/cells', { name: 'bare-1', url: given.href })
        assert.equal(answer.http, 400, answer.text)
        assert.match(answer.text, reason)
        assert.doesNotMatch(answer.text, new RegExp(`hush|${database}`))
      }
      await asAdmin(`grant cowry_merchant to ${user}`)
      const added = await admin.post('/admin/v1/cells', { name: 'bare-1', url: own.href })
      assert.equal(added.http, 201, added.text)
      await service.db.script("delete from cells where name = 'bare-1'")
    },
  )

  it('has a URL that no message repeats: not one in place of a file, nor a part of one that leads nowhere', async (t) => {
    const folder = await mkdtemp(join(tmpdir(), 'cowry-cells-'))
    t.after(() => rm(folder, { recursive: true }))
    const file = join(folder, 'url')
    const mustBeUrl = /url must be postgres:\/\/user:password@host/
    for (const [url, reason] of [
      [
        'postgres://hush-1',
        /url leads to no usable server: connecting failed with E[A-Z_]+, because the host has no address/,
      ],
      [
        service.databaseUrl.replace(/[^/]+$/, 'hush-1'),
        /url leads to no usable server: connecting failed with 3D000, because the server has no database with this name/,
      ],
      ['hush-1', mustBeUrl],
      ['u:hush-1@127.0.0.1/db', mustBeUrl],
      ['mysql://u:hush-1@127.0.0.1/db', mustBeUrl],
      ['postgres:///hush-1', mustBeUrl],
    ] as const) {
      await writeFile(file, `${url}\n`)
      const { code, out } = await cowry('add', 'west-1', '--url-file', file)
      assert.equal(code, 1)
      assert.match(out, reason, url)
      assert.doesNotMatch(out, /hush-1/i)
    }
    for (const given of ['postgres://u:hush-1@h/db', 'u:hush-1@h/db'])
      assert.deepEqual(await cowry('add', 'west-1', '--url-file', given), {
        ...{ code: 1, out: 'What was given in place of a file cannot be read: it looks like a URL.\n' },
      })
    const { out } = await cowry('add', 'west-1', '--url-file', join(folder, 'none'))
    assert.match(out, /^\S+none cannot be read: ENOENT[^\n]+\n$/)
  })
})
