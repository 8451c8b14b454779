import assert from 'node:assert/strict'
import { after, describe, it } from 'node:test'
import { newOrigin, PASSWORD, peopleRig, refusedWith } from '../../test/support/people-rig.ts'
import { HAS_LARGER_FORM, sized } from '../../test/support/scale.ts'
import { sql } from '../kit/db/db.ts'
import type { Origin } from './app.ts'
import { PeopleError } from './errors.ts'
import { signIn } from './sign-in.ts'

const rig = await peopleRig({ after })
const { app, clock } = rig
const merchantId = await rig.newMerchant()
const owner = await rig.newMember(merchantId, 'owner')

const MINUTE_MS = 60_000
const HOUR_MS = 60 * MINUTE_MS
const GUESSES = sized({ quick: 1_000, rest: 3_000, long: 10_000 })
const ADDRESSES = sized({ quick: 200, rest: 1_000, long: 10_000 })

const guess = (email: string, origin: Origin, password = 'a wrong password') =>
  signIn(app, { email, password, kind: 'member' }, origin)

async function codeOf(email: string, origin: Origin, password?: string): Promise<string> {
  try {
    return (await guess(email, origin, password)).kind
  } catch (error) {
    if (error instanceof PeopleError) return error.code
    throw error
  }
}

/** How many guesses were answered in which way, several at a time. */
async function guessMany(count: number, next: (index: number) => [email: string, origin: Origin]) {
  const codes = new Map<string, number>()
  let started = 0
  const guesser = async () => {
    while (started < count) {
      started += 1
      const code = await codeOf(...next(started))
      codes.set(code, (codes.get(code) ?? 0) + 1)
    }
  }
  await Promise.all(Array.from({ length: 16 }, guesser))
  return codes
}

describe('limits on guessing', () => {
  it(
    'refuse thousands of guesses of one address with a few hashes, and the owner signs in meanwhile',
    HAS_LARGER_FORM,
    async () => {
      const before = rig.hashes()
      const origin = newOrigin()
      const codes = await guessMany(GUESSES, () => [owner.email, origin])
      assert.equal(rig.hashes() - before, codes.get('sign_in_failed'))
      // Five are free; then the wait doubles from a second, and the clock rises by some seconds meanwhile.
      assert.ok((codes.get('sign_in_failed') ?? 0) <= 10, String(codes.get('sign_in_failed')))
      assert.equal((codes.get('sign_in_failed') ?? 0) + (codes.get('too_many_attempts') ?? 0), GUESSES)
      assert.equal(await codeOf(owner.email, newOrigin(), PASSWORD), 'session', 'from another address')
      assert.equal(
        await codeOf(owner.email, { ...origin, deviceToken: owner.deviceToken }, PASSWORD),
        'session',
        'known',
      )
      // The last wait may be over by now: one more failure begins a new one.
      clock.advance(HOUR_MS)
      assert.equal(await codeOf(owner.email, origin), 'sign_in_failed')
      assert.equal(await codeOf(owner.email, origin, PASSWORD), 'too_many_attempts')
    },
  )

  it(
    'make new addresses wait when an account is guessed from many, but no known browser',
    HAS_LARGER_FORM,
    async () => {
      const { email, deviceToken } = await rig.newMember(merchantId, 'viewer')
      const before = rig.hashes()
      const codes = await guessMany(ADDRESSES, () => [email, newOrigin()])
      assert.ok(rig.hashes() - before <= 50, String(rig.hashes() - before))
      assert.equal(codes.get('too_many_attempts'), ADDRESSES - 50)
      const known = newOrigin({ deviceToken })
      assert.equal(await codeOf(email, known, PASSWORD), 'session', 'a known browser does not wait')
      const elsewhere = newOrigin()
      assert.equal(await codeOf(email, elsewhere, PASSWORD), 'too_many_attempts')
      clock.advance(MINUTE_MS)
      assert.equal(await codeOf(email, elsewhere, PASSWORD), 'session', 'it waited for its own turn')
    },
  )

  it('refuse an address that guesses one password for many accounts', async () => {
    const before = rig.hashes()
    const origin = newOrigin()
    const codes = await guessMany(200, (index) => [`person-${index}@example.com`, origin])
    assert.ok(rig.hashes() - before <= 51)
    assert.ok((codes.get('too_many_attempts') ?? 0) >= 149)
  })

  it('double the wait with each failure up to an hour', async () => {
    const { email } = await rig.newMember(merchantId, 'viewer')
    const origin = newOrigin()
    const waits: number[] = []
    for (let failures = 1; failures <= 20; failures += 1) {
      await assert.rejects(guess(email, origin), refusedWith('sign_in_failed'))
      if (failures < 5) continue
      const refused = await guess(email, origin, PASSWORD).catch((error: PeopleError) => error)
      const wait = refused instanceof PeopleError ? (refused.retryAfterSeconds ?? 0) : 0
      waits.push(wait)
      clock.advance(wait * 1_000)
    }
    assert.deepEqual(waits.slice(0, 4), [1, 2, 4, 8])
    assert.deepEqual(waits.slice(-3), [3_600, 3_600, 3_600])
    assert.equal(await codeOf(email, origin, PASSWORD), 'session')
    assert.equal(await codeOf(email, origin), 'sign_in_failed', 'a success begins the count again')
    assert.equal(await codeOf(email, origin), 'sign_in_failed')
  })

  it('are the same for an account that does not exist', async () => {
    const answers = async (email: string) => {
      const origin = newOrigin()
      const before = rig.hashes()
      const codes: string[] = []
      for (let count = 0; count < 8; count += 1)
        codes.push(
          await guess(email, origin).then(
            () => 'session',
            (error: PeopleError) => `${error.http} ${error.message} ${error.retryAfterSeconds}`,
          ),
        )
      return { codes, hashes: rig.hashes() - before }
    }
    const { email } = await rig.newMember(merchantId, 'viewer')
    const existing = await answers(email)
    assert.deepEqual(await answers('unknown@example.com'), existing)
    assert.equal(existing.hashes, 5)
  })

  it('stand in the audit log when they begin, and not for each guess', async () => {
    const { email, principal } = await rig.newMember(merchantId, 'viewer')
    const origin = newOrigin()
    for (let count = 0; count < 30; count += 1) await codeOf(email, origin)
    const entries = await rig.raw.query(
      sql<{ address: string; objectType: string }>`
        select address, object_type as "objectType" from audit_entries where actor_id = $1 and operation = 'sign_in.limit'`,
      [principal.user.id],
    )
    assert.deepEqual(entries, [{ address: origin.address, objectType: 'sign_in_limit' }])
  })
})
