import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { ApiError } from '../core/errors.ts'
import { systemClock } from '../kit/clock.ts'
import { systemRandom } from '../kit/random.ts'
import { PeopleError } from './errors.ts'
import { assertGoodPassword, createPasswordHasher, SCRYPT_COST } from './passwords.ts'

const random = systemRandom(systemClock)
const CHEAP = { logN: 4, r: 8, p: 1 }

describe('a stored password', () => {
  it('is verified by scrypt with the parameters in its text, and by no other password', async () => {
    const hasher = createPasswordHasher(random, CHEAP)
    const stored = await hasher.hash('a long enough one')
    assert.match(stored, /^scrypt\$4\$8\$1\$/)
    assert.notEqual(stored, await hasher.hash('a long enough one'), 'each has a salt of its own')
    const stronger = createPasswordHasher(random, { ...CHEAP, logN: 5 })
    assert.equal(await stronger.verify('a long enough one', stored), true)
    assert.equal(await stronger.verify('a long enough two', stored), false)
    assert.equal(stronger.isOutdated(stored), true)
    assert.equal(hasher.isOutdated(stored), false)
  })

  it('has the parameters of the design in production', async () => {
    assert.deepEqual(SCRYPT_COST, { logN: 15, r: 8, p: 1 })
    const hasher = createPasswordHasher(random, SCRYPT_COST)
    assert.equal(await hasher.verify('a long enough one', await hasher.hash('a long enough one')), true)
  })

  it('is the same however its characters were composed', async () => {
    const hasher = createPasswordHasher(random, CHEAP)
    const stored = await hasher.hash('cafe\u0301 au lait ﬁn')
    assert.equal(await hasher.verify('caf\u00e9 au lait fin', stored), true)
  })

  it('costs the same work if there is none, and never matches', async () => {
    let runs = 0
    const hasher = createPasswordHasher(random, CHEAP, async () => {
      runs += 1
      return Buffer.alloc(32)
    })
    assert.equal(await hasher.verify('anything', null), false, 'although the derived hash is the dummy')
    assert.equal(runs, 1)
  })
})

describe('hashing passwords', () => {
  it('runs two at a time, queues some, and answers 503 to the others', async () => {
    let running = 0
    let most = 0
    const finishes: (() => void)[] = []
    const hasher = createPasswordHasher(random, CHEAP, async () => {
      running += 1
      most = Math.max(most, running)
      await new Promise<void>((resolve) => finishes.push(resolve))
      running -= 1
      return Buffer.alloc(32)
    })
    const calls = Array.from({ length: 40 }, () => hasher.hash('password'))
    const results = Promise.allSettled(calls)
    for (let done = 0; done < 32; ) {
      await new Promise(setImmediate)
      for (const finish of finishes.splice(0)) {
        finish()
        done += 1
      }
    }
    const refused = (await results).filter(({ status }) => status === 'rejected')
    assert.equal(most, 2)
    assert.equal(refused.length, 8)
    for (const one of refused)
      assert.ok(
        one.status === 'rejected' &&
          one.reason instanceof ApiError &&
          one.reason.code === 'temporarily_unavailable',
      )
    finishes.length = 0
    const later = hasher.hash('password')
    await new Promise(setImmediate)
    finishes[0]?.()
    await later
  })
})

describe('a new password', () => {
  const codeOf = (password: string) => {
    try {
      assertGoodPassword(password, 'amina.wanjiru@example.com')
      return undefined
    } catch (error) {
      return error instanceof PeopleError ? error.code : error
    }
  }

  it('has 12 to 128 characters', () => {
    for (const text of ['short one!!', `${'ab3 '.repeat(32)}x`]) assert.equal(codeOf(text), 'password_length')
    for (const text of ['longer than12', 'ab3 '.repeat(32), 'ንጉሥ ሰሎሞን በኢየሩሳሌም'])
      assert.equal(codeOf(text), undefined, text)
  })

  it('is neither the e-mail address nor one of the most common', () => {
    for (const text of [
      ...[
        'Amina.Wanjiru@example.com',
        'amina.wanjiru',
        'Password1234',
        'P@ssword1234',
        'qwertyuiop123',
        '123456789012',
      ],
      ...['987654321098', 'aaaaaaaaaaaa', 'abababababab', 'letmein!!!!!!', 'Welcome 2026!!'],
    ])
      assert.equal(codeOf(text), 'password_common', text)
  })
})
