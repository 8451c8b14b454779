import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { frozenClock } from '../../../test/support/fake-clock.ts'
import { createFormLimits } from './limits.ts'

const LIMITED = { code: 'rate_limited' }

describe('the limits of the form of a payment link', () => {
  it('limit one visitor over all links, without closing a link to others', () => {
    const clock = frozenClock()
    const limit = createFormLimits({ clock })
    const submit = (visitor: string, n: number, linkId = 'one') =>
      limit({ linkId, visitor, email: `${visitor}-${n}@example.com` })
    for (let n = 0; n < 120; n += 1) submit('203.0.113.9', n, `link-${n % 3}`)
    assert.throws(() => submit('203.0.113.9', 120), LIMITED)
    // Rejected forms of the visitor do not use up the limit of the link.
    for (let n = 0; n < 1_000; n += 1) assert.throws(() => submit('203.0.113.9', n), LIMITED)
    submit('203.0.113.10', 1)
    clock.advance(60_000)
    submit('203.0.113.9', 121)
  })

  it('limit a link against many visitors, and one e-mail address at a link', () => {
    const limit = createFormLimits({ clock: frozenClock() })
    for (let n = 0; n < 600; n += 1) limit({ linkId: 'one', visitor: `v${n}`, email: `p${n}@example.com` })
    assert.throws(() => limit({ linkId: 'one', visitor: 'next', email: 'next@example.com' }), LIMITED)
    for (let n = 0; n < 20; n += 1) limit({ linkId: 'two', visitor: `v${n}`, email: 'Amina@example.com' })
    assert.throws(() => limit({ linkId: 'two', visitor: 'next', email: 'amina@example.com' }), LIMITED)
  })
})
