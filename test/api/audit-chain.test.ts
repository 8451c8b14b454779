// The chain of the audit log: append-only, verified by its hashes; the actor of a statement; cowry audit.

import assert from 'node:assert/strict'
import { after, describe, it } from 'node:test'
import { runCommandLine } from '../../src/cli/program.ts'
import { connectDb, sql } from '../../src/kit/db/db.ts'
import { ONE_DATABASE } from '../support/cells.ts'
import type { Document } from '../support/openapi.ts'
import { LARGER_FORM_ONLY } from '../support/scale.ts'
import { ADMIN_TOKEN, testService } from '../support/service.ts'

const service = await testService({ after }, { env: { COWRY_RATE_LIMIT: '0', COWRY_TRUST_PROXY: 'true' } })
const { admin, db } = service

interface Verification {
  violations: number
  firstViolations: { chain: string }[]
}

const selectVerification = sql<{ verification: Verification }>`select verify_audit_chains($1) as verification`

/** Carries the result out of a transaction that must not commit. */
class RolledBack extends Error {
  readonly verification: Verification

  constructor(verification: Verification | undefined) {
    super('rolled back')
    this.verification = verification ?? assert.fail('the verification has a row')
  }
}

describe('the chain of the audit log', () => {
  it('rejects changes of entries in the database', async () => {
    for (const text of [
      'delete from audit_entries',
      "update audit_entries set address = 'x'",
      'truncate audit_entries',
    ])
      await assert.rejects(db.script(text), /append-only/)
  })

  const TAMPERED = (uuid: string) => ({
    changed: `update audit_entries set address = '192.0.2.1' where merchant_id = '${uuid}' and number = 1`,
    removed: `delete from audit_entries where merchant_id = '${uuid}' and number = 1`,
    inserted: `insert into audit_entries select (jsonb_populate_record(e, jsonb_build_object('number', 9, 'id', gen_random_uuid()))).* from audit_entries e where merchant_id = '${uuid}' and number = 2`,
  })
  const UNPROTECTED = 'alter table audit_entries disable trigger audit_entries_append_only;'

  it('detects a changed, a removed and an inserted entry', ONE_DATABASE, async () => {
    const { uuid } = await service.newMerchant()
    for (const [name, text] of Object.entries(TAMPERED(uuid))) {
      const tamper = db.transaction<RolledBack>(async (tx) => {
        await tx.script(`${UNPROTECTED}${text}`)
        const [row] = await tx.query(selectVerification, [uuid])
        throw new RolledBack(row?.verification)
      })
      const { verification } = await tamper.catch((error: RolledBack) => error)
      assert.equal(verification.firstViolations[0]?.chain, uuid, name)
      assert.ok(verification.violations > 0, name)
    }
    assert.equal((await cowry(service.url, 'verify', '--merchant', uuid)).code, 0)
  })

  it('reports a changed entry in the command line and as an invariant', LARGER_FORM_ONLY, async (t) => {
    const own = await testService(t, { isOwn: true, checksInvariants: false })
    const { uuid } = await own.newMerchant()
    assert.deepEqual((await cowry(own.url, 'verify')).code, 0)
    await own.db.script(`${UNPROTECTED}${TAMPERED(uuid).changed}`)
    const { code, out } = await cowry(own.url, 'verify')
    assert.equal(code, 1)
    assert.match(out, /The audit log was changed/)
    const invariants = (await own.admin.get('/admin/v1/invariants')).body.data
    const chain = invariants.find((one: Document) => one.name.includes('audit_chain'))
    assert.equal(chain.violations, 1)
  })

  it('lists and exports entries from the command line', async () => {
    const { uuid } = await service.newMerchant()
    const list = await cowry(service.url, 'list', '--merchant', uuid)
    assert.match(list.out, /operator \w{12} .*POST \/admin\/v1\/merchants\/\{uuid\}\/keys +api_key/)
    const json = await cowry(service.url, 'list', '--merchant', uuid, '--json')
    assert.equal(JSON.parse(json.out).data.length, 2)
    const csv = await cowry(service.url, 'export', '--merchant', uuid)
    assert.equal(csv.out.trimEnd().split('\r\n').length, 3)
    // The client of the tests removes the byte order mark.
    const download = await admin.get(`/admin/v1/audit/export?merchant=${uuid}`)
    assert.equal(csv.out, `\uFEFF${download.text}`)
    const lines = await cowry(service.url, 'export', '--merchant', uuid, '--json')
    assert.deepEqual(
      lines.out
        .trimEnd()
        .split('\n')
        .map((line) => JSON.parse(line).number),
      [1, 2],
    )
  })
})

describe('the actor of a statement', () => {
  it('is recorded for single statements and transactions, and never leaks into the next one', async (t) => {
    const raw = connectDb({ url: service.databaseUrl, poolSize: 1 })
    t.after(() => raw.close())
    const { uuid } = await service.newMerchant()
    const audit = JSON.stringify(context('PATCH /admin/v1/merchants/{uuid}'))
    const rename = sql<unknown>`update merchants set name = $2 where id = $1`
    await raw.audited(audit).query(rename, [uuid, 'First'])
    await raw.query(rename, [uuid, 'Not audited'])
    await raw.audited(audit).transaction((tx) => tx.query(rename, [uuid, 'Second']))
    await raw.transaction((tx) => tx.query(rename, [uuid, 'Not audited either']))
    await assert.rejects(
      raw.audited(audit).transaction(async (tx) => {
        await tx.query(rename, [uuid, 'Rolled back'])
        throw new Error('rolled back')
      }),
    )
    const found = (await admin.get(`/admin/v1/audit?merchant=${uuid}&actor=test&sort=createdAt:asc`)).body
      .data
    assert.deepEqual(
      found.map(({ changes }: Document) => changes[0].after.name),
      ['First', 'Second'],
    )
  })
})

describe('an operation that changes more than a hundred rows', () => {
  it('is recorded with the number of changes that its entry does not show', async (t) => {
    const raw = connectDb({ url: service.databaseUrl, poolSize: 1 })
    t.after(() => raw.close())
    const { uuid } = await service.newMerchant()
    const rename = sql<unknown>`update merchants set name = $2 where id = $1`
    const renameOften = (times: number, operation: string) =>
      raw.audited(JSON.stringify(context(operation))).transaction(async (tx) => {
        for (let n = 1; n <= times; n += 1) await tx.query(rename, [uuid, `${operation} ${n}`])
      })
    const MANY = 'POST /admin/v1/merchants/{uuid}/suspend'
    const HUNDRED = 'POST /admin/v1/merchants/{uuid}/activate'
    await renameOften(103, MANY)
    await renameOften(100, HUNDRED)
    const lastOf = async (operation: string) => {
      const path = `/admin/v1/audit?merchant=${uuid}&operation=${encodeURIComponent(operation)}`
      const { body } = await admin.get(path)
      const [{ changes }] = body.data
      const { type, after: shown } = changes.at(-1)
      return [changes.length, type, shown]
    }
    assert.deepEqual(await lastOf(MANY), [101, 'more_changes', { count: 3 }])
    assert.deepEqual(await lastOf(HUNDRED), [100, 'merchant', { name: `${HUNDRED} 100` }])
    assert.equal((await cowry(service.url, 'verify', '--merchant', uuid)).code, 0)
  })
})

const context = (operation: string) => ({
  actorType: 'operator' as const,
  actorId: 'test',
  address: "192.0.2.7 '); select 1; --",
  requestId: 'r',
  operation,
  target: null,
  at: new Date(),
})

async function cowry(url: string, ...argv: string[]) {
  let out = ''
  const take = (text: string) => {
    out += text
  }
  const env = { COWRY_URL: url, COWRY_ADMIN_TOKEN: ADMIN_TOKEN }
  const code = await runCommandLine(['audit', ...argv], { terminal: { out: take, err: take }, env })
  return { code, out }
}
