import assert from 'node:assert/strict'
import { randomBytes, randomInt, randomUUID } from 'node:crypto'
import { describe, it } from 'node:test'
import { type CallbackAccount, type CallbackSubject, createCallbackPaths } from './callback-paths.ts'

const INSTANCE: CallbackAccount = { gateway: 'mtn_momo', merchantId: null, accountId: null }
const newAccount = (): CallbackAccount => ({
  gateway: 'mtn_momo',
  merchantId: randomUUID(),
  accountId: randomUUID(),
})
const newKey = () => new Uint8Array(randomBytes(32))
const attempt = (key: string = randomUUID()): CallbackSubject => ({ kind: 'attempt', key })
const partsOf = (path: string) => {
  const [, , , scope = '', subject = '', mac = ''] = path.split('/')
  return { scope, subject, mac }
}

describe('a secret callback path', () => {
  const paths = createCallbackPaths([newKey()])

  it('proves the account, the attempt or the refund for which it was made', () => {
    const account = newAccount()
    const refunds = (['refund', 'refund_status'] as const).map((kind) => ({ kind, key: randomUUID() }))
    const subjects = [{ kind: 'account' } as const, attempt(), ...refunds]
    for (const owner of [INSTANCE, account])
      for (const subject of subjects) {
        const { scope, subject: text, mac } = partsOf(paths.pathOf(owner, subject))
        assert.equal(scope, owner.merchantId ?? 'instance')
        assert.deepEqual(paths.verify(owner, text, mac), subject)
      }
  })

  it('proves nothing for another gateway, merchant, account, attempt or instance', () => {
    const account = newAccount()
    const { subject, mac } = partsOf(paths.pathOf(account, attempt()))
    const others: CallbackAccount[] = [
      { ...account, gateway: 'mtn_momo_ug' },
      { ...account, merchantId: randomUUID() },
      { ...account, accountId: randomUUID() },
      INSTANCE,
    ]
    for (const other of others) assert.equal(paths.verify(other, subject, mac), undefined)
    for (const text of [`attempt-${randomUUID()}`, 'account', subject.replace('attempt', 'refund'), ''])
      assert.equal(paths.verify(account, text, mac), undefined)
    assert.equal(createCallbackPaths([newKey()]).verify(account, subject, mac), undefined)
  })

  it('proves nothing after any change of its MAC', () => {
    const { subject, mac } = partsOf(paths.pathOf(INSTANCE, attempt()))
    assert.match(mac, /^[0-9a-f]{32}$/)
    for (let round = 0; round < 1_000; round += 1) {
      const place = randomInt(mac.length)
      const digit = ((Number.parseInt(mac.charAt(place), 16) + 1 + randomInt(15)) % 16).toString(16)
      const changed = `${mac.slice(0, place)}${digit}${mac.slice(place + 1)}`
      assert.equal(paths.verify(INSTANCE, subject, changed), undefined)
    }
    for (const other of ['', mac.slice(1), `${mac}0`, `${mac}${mac}`, mac.toUpperCase().replace(/\d/g, 'A')])
      assert.equal(paths.verify(INSTANCE, subject, other), undefined)
  })

  it('stays valid while its key is on the keyring, and not after', () => {
    const [old, fresh] = [newKey(), newKey()]
    const { subject, mac } = partsOf(createCallbackPaths([old]).pathOf(INSTANCE, attempt()))
    const rotated = createCallbackPaths([fresh, old])
    assert.ok(rotated.verify(INSTANCE, subject, mac))
    assert.notEqual(partsOf(rotated.pathOf(INSTANCE, attempt())).mac, mac)
    assert.equal(createCallbackPaths([fresh]).verify(INSTANCE, subject, mac), undefined)
  })

  it('has no query, and no word that a provider refuses in an address', () => {
    for (let round = 0; round < 200; round += 1) {
      const path = paths.pathOf(newAccount(), { kind: 'refund_status', key: randomUUID() })
      assert.match(path, /^\/hooks\/mtn_momo\/[0-9a-f-]{36}\/refund_status-[0-9a-f-]{36}\/[0-9a-f]{32}$/)
      assert.doesNotMatch(path, /mpesa|m-pesa|safaricom|exe|cmd|sql|query/)
    }
  })

  it('is made for UUIDs only, so that no key can change its parts', () => {
    for (const key of ['', 'a/b', `${randomUUID()}/x`, 'ORDER-1'])
      assert.throws(() => paths.pathOf(INSTANCE, attempt(key)), /UUID/)
  })
})
