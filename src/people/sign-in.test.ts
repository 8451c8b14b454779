import assert from 'node:assert/strict'
import { after, describe, it } from 'node:test'
import {
  newOrigin,
  PASSWORD,
  peopleRig,
  refusedWith,
  requirePrincipal,
  type SignedInMember,
} from '../../test/support/people-rig.ts'
import { totpCode } from '../../test/support/totp-code.ts'
import { createSigner, createVault } from '../kit/crypto.ts'
import { sql } from '../kit/db/db.ts'
import { resealBatch } from '../secrets/reseal.ts'
import { disableUser } from './accounts.ts'
import type { PeopleError } from './errors.ts'
import { createPasswordHasher } from './passwords.ts'
import {
  confirmTotp,
  recoveryCodesLeft,
  removeTotp,
  renewRecoveryCodes,
  startTotp,
} from './second-factors.ts'
import { principalOf, signOut } from './sessions.ts'
import { completeSignIn, confirmIdentity, signIn } from './sign-in.ts'

const rig = await peopleRig({ after })
const { app, clock } = rig
const merchantId = await rig.newMerchant()

const STEP_MS = 30_000

const codeOf = (secret: string) => totpCode(secret, clock.now().getTime())

async function withTotp() {
  const member = await rig.newMember(merchantId, 'admin')
  const { secret } = await startTotp(app, member.principal, 'Cowry')
  const recoveryCodes = await confirmTotp(app, member.principal, codeOf(secret))
  clock.advance(STEP_MS)
  return { ...member, secret, recoveryCodes }
}

const password = ({ email }: Pick<SignedInMember, 'email'>, origin = newOrigin()) =>
  signIn(app, { email, password: PASSWORD, kind: 'member' }, origin)

async function pendingOf(member: Pick<SignedInMember, 'email'>): Promise<string> {
  const signedIn = await password(member)
  if (signedIn.kind !== 'second_factor') throw new Error('the second factor was not asked for')
  return signedIn.pendingToken
}

describe('signing in', () => {
  it('takes the e-mail address in any case, and the same password however it was composed', async () => {
    const { email } = await rig.newMember(merchantId, 'viewer')
    const { kind } = await password({ email: ` ${email.toUpperCase()} ` })
    assert.equal(kind, 'session')
  })

  it('gives the same answer and does the same work for a wrong password, an unknown account and one of the other kind', async () => {
    const { email } = await rig.newMember(merchantId, 'viewer')
    const attempts = [
      { email, password: 'a wrong password', kind: 'member' },
      { email: 'unknown@example.com', password: PASSWORD, kind: 'member' },
      { email, password: PASSWORD, kind: 'operator' },
    ] as const
    for (const attempt of attempts) {
      const before = rig.hashes()
      await assert.rejects(signIn(app, attempt, newOrigin()), (error: PeopleError) => {
        assert.deepEqual(
          [error.code, error.message],
          ['sign_in_failed', 'The e-mail address or the password is not right.'],
        )
        return true
      })
      assert.equal(rig.hashes() - before, 1)
    }
  })

  it('replaces a hash with older parameters, once', async () => {
    const { email, principal } = await rig.newMember(merchantId, 'viewer')
    const stronger = { ...app, passwords: createPasswordHasher(app.random, { logN: 2, r: 8, p: 1 }) }
    const older = { ...app, passwords: createPasswordHasher(app.random, { logN: 1, r: 8, p: 1 }) }
    const select = sql<{ hash: string }>`select password_hash as hash from users where id = $1`
    const stored = async () => (await rig.raw.query(select, [principal.user.id]))[0]?.hash ?? ''
    await rig.raw.query(sql<unknown>`update users set password_hash = $2 where id = $1`, [
      principal.user.id,
      await older.passwords.hash(PASSWORD),
    ])
    const input = { email, password: PASSWORD, kind: 'member' as const }
    const both = await Promise.all([
      signIn(stronger, input, newOrigin()),
      signIn(stronger, input, newOrigin()),
    ])
    assert.deepEqual(
      both.map(({ kind }) => kind),
      ['session', 'session'],
    )
    const replaced = await stored()
    assert.match(replaced, /^scrypt\$2\$/)
    await signIn(stronger, input, newOrigin())
    assert.equal(await stored(), replaced)
  })

  it('stands in the audit log of the merchant with the person, the session and the address, and so does the end', async () => {
    const member = await rig.newMember(merchantId, 'viewer')
    const origin = newOrigin()
    const signedIn = await password(member, origin)
    assert.ok(signedIn.kind === 'session')
    const principal = await requirePrincipal(app, signedIn.token)
    await signOut(app, principal, origin)
    const entries = await rig.raw.query(
      sql<object>`
        select operation, actor_type as type, actor_id as id, actor_role as role, address, object_type as object, merchant_id as merchant
        from audit_entries where session_id = $1 order by number`,
      [principal.sessionId],
    )
    const common = {
      type: 'user',
      id: principal.user.id,
      address: origin.address,
      object: 'session',
      merchant: merchantId,
    }
    assert.deepEqual(entries, [
      { operation: 'sign_in.password', role: null, ...common },
      { operation: 'sign_out', role: 'viewer', ...common },
    ])
  })
})

describe('the second factor', () => {
  it('is asked for after the password, by a token that opens nothing else', async () => {
    const member = await withTotp()
    const pending = await pendingOf(member)
    assert.equal(await principalOf(app, pending), undefined)
    await assert.rejects(
      completeSignIn(app, { pendingToken: pending, code: '000000' }, newOrigin()),
      refusedWith('second_factor_failed'),
    )
    const { token } = await completeSignIn(
      app,
      { pendingToken: pending, code: codeOf(member.secret) },
      newOrigin(),
    )
    assert.equal((await requirePrincipal(app, token)).user.hasTotp, true)
    clock.advance(STEP_MS)
    await assert.rejects(
      completeSignIn(app, { pendingToken: pending, code: codeOf(member.secret) }, newOrigin()),
      refusedWith('session_ended'),
    )
  })

  it('accepts a code once, also in parallel sign-ins (TOTP replay)', async () => {
    const member = await withTotp()
    const pendings = [
      await pendingOf(member),
      await pendingOf(member),
      await pendingOf(member),
      await pendingOf(member),
    ]
    const code = codeOf(member.secret)
    const results = await Promise.allSettled(
      pendings.map((pendingToken) => completeSignIn(app, { pendingToken, code }, newOrigin())),
    )
    assert.equal(results.filter(({ status }) => status === 'fulfilled').length, 1)
    await assert.rejects(
      completeSignIn(app, { pendingToken: await pendingOf(member), code }, newOrigin()),
      refusedWith('second_factor_failed'),
    )
  })

  it('is asked for within ten minutes, and not after the person was disabled', async () => {
    const member = await withTotp()
    const late = await pendingOf(member)
    clock.advance(10 * 60_000)
    const complete = (pendingToken: string | undefined) =>
      completeSignIn(app, { pendingToken, code: codeOf(member.secret) }, newOrigin())
    for (const token of [late, undefined, 'A'.repeat(43)])
      await assert.rejects(complete(token), refusedWith('session_ended'))
    const pending = await pendingOf(member)
    await disableUser(app, member.principal.user.id)
    await assert.rejects(complete(pending), refusedWith('session_ended'))
  })

  it('is not guessed from many addresses: after a few codes the others are refused unread', async () => {
    const member = await withTotp()
    const pendingToken = await pendingOf(member)
    const codes = new Map<string, number>()
    for (let count = 0; count < 50; count += 1)
      await completeSignIn(app, { pendingToken, code: '000000' }, newOrigin()).catch((error: PeopleError) =>
        codes.set(error.code, (codes.get(error.code) ?? 0) + 1),
      )
    assert.deepEqual(Object.fromEntries(codes), { second_factor_failed: 5, too_many_attempts: 45 })
    const code = codeOf(member.secret)
    await assert.rejects(
      completeSignIn(app, { pendingToken, code }, newOrigin()),
      refusedWith('too_many_attempts'),
    )
    const known = newOrigin({ deviceToken: member.deviceToken })
    assert.ok(
      await completeSignIn(app, { pendingToken, code }, known),
      'a known browser has a count of its own',
    )
  })

  it('can be one of ten recovery codes, each used once', async () => {
    const member = await withTotp()
    assert.equal(new Set(member.recoveryCodes).size, 10)
    const [first = '', second = ''] = member.recoveryCodes
    const typed = `${first.slice(0, 4)}-${first.slice(4, 8)} ${first.slice(8)}`.toUpperCase()
    const use = async (code: string) =>
      completeSignIn(app, { pendingToken: await pendingOf(member), code }, newOrigin())
    assert.ok((await use(typed)).token)
    await assert.rejects(use(first), refusedWith('second_factor_failed'))
    assert.equal(await recoveryCodesLeft(app, member.principal), 9)
    const pendings = await Promise.all(Array.from({ length: 5 }, () => pendingOf(member)))
    const results = await Promise.allSettled(
      pendings.map((pendingToken) => completeSignIn(app, { pendingToken, code: second }, newOrigin())),
    )
    assert.equal(results.filter(({ status }) => status === 'fulfilled').length, 1)
    const other = await withTotp()
    await assert.rejects(use(other.recoveryCodes[0] ?? ''), refusedWith('second_factor_failed'))
  })

  it('is sealed, and its recovery codes are hashed', async () => {
    const { secret, recoveryCodes, principal } = await withTotp()
    const rows = await rig.raw.query(
      sql<{ row: string }>`
        select u::text as row from users u where id = $1
        union all select r::text from recovery_codes r where user_id = $1
        union all select e::text from audit_entries e where actor_id = $1::text`,
      [principal.user.id],
    )
    assert.ok(rows.length > 10)
    for (const { row } of rows)
      for (const hidden of [secret, ...recoveryCodes]) assert.ok(!row.includes(hidden))
  })

  it('is encrypted again with a new key, after which the old one is not needed', async () => {
    const { secret, email, principal } = await withTotp()
    await startTotp(app, { ...principal, authenticatedAt: clock.now() }, 'Cowry')
    const next = { id: 'next', key: app.random.bytes(32) }
    const cursors = createSigner(app.random.bytes(32))
    const vault = createVault([next, rig.vaultKey], app.random)
    const { raw } = rig
    const handles = { instanceDb: raw, unscopedDb: raw, unscopedInstanceDb: raw }
    const resealing = { ...handles, log: app.log, vault, cursors }
    let left = 0
    for (let cursor: string | null | undefined; cursor !== null; ) {
      const batch = await resealBatch(resealing, { limit: 3, ...(cursor !== undefined && { cursor }) })
      left += Object.keys(batch.left).length
      cursor = batch.cursor
    }
    assert.equal(left, 0)
    const renewed = { ...app, vault: createVault([next], app.random) }
    const pendingToken = await pendingOf({ email })
    assert.ok(await completeSignIn(renewed, { pendingToken, code: codeOf(secret) }, newOrigin()))
    await assert.rejects(confirmTotp(renewed, principal, 'wrong'), refusedWith('second_factor_failed'))
  })

  it('confirms the session instead of the password', async () => {
    const { principal, secret, email } = await withTotp()
    const current = await requirePrincipal(app, (await completeFor(email, secret)).token)
    await assert.rejects(
      confirmIdentity(app, current, { password: PASSWORD }, newOrigin()),
      refusedWith('second_factor_failed'),
    )
    clock.advance(STEP_MS)
    assert.ok(await confirmIdentity(app, current, { code: codeOf(secret) }, newOrigin()))
    assert.equal(current.user.id, principal.user.id)
  })

  async function completeFor(email: string, secret: string) {
    return completeSignIn(
      app,
      { pendingToken: await pendingOf({ email }), code: codeOf(secret) },
      newOrigin(),
    )
  }

  it('is set up, renewed and removed only after a recent sign-in, and begins with a right code', async () => {
    const { principal } = await rig.newMember(merchantId, 'viewer')
    await assert.rejects(confirmTotp(app, principal, '123456'), refusedWith('totp_not_started'))
    const { secret, uri } = await startTotp(app, principal, 'Cowry')
    assert.match(uri, /^otpauth:\/\/totp\/Cowry:/)
    const right = codeOf(secret)
    const wrong = right === '000000' ? '000001' : '000000'
    await assert.rejects(confirmTotp(app, principal, wrong), refusedWith('second_factor_failed'))
    const codes = await confirmTotp(app, principal, right)
    const current = { ...principal, user: { ...principal.user, hasTotp: true } }
    const renewed = await renewRecoveryCodes(app, current)
    assert.equal(renewed.filter((code) => codes.includes(code)).length, 0)
    clock.advance(6 * 60_000)
    for (const call of [
      startTotp(app, current, 'Cowry'),
      renewRecoveryCodes(app, current),
      removeTotp(app, current),
    ])
      await assert.rejects(call, refusedWith('authentication_required'))
    await removeTotp(app, { ...current, authenticatedAt: clock.now() })
    assert.equal(await recoveryCodesLeft(app, current), 0)
    assert.equal((await password({ email: principal.user.email })).kind, 'session')
  })
})
