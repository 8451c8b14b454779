import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { STRIPE } from '../../../src/gateways/stripe/index.ts'
import { invalid, startFixedReply } from './rig.ts'

describe('a credential of Stripe', () => {
  const [secretKey, webhookSecret] = STRIPE.credentials
  const keys: [text: string, mode: 'test' | 'live', issue: RegExp | undefined][] = [
    ['sk_test_made0up', 'test', undefined],
    ['rk_test_made0up', 'test', undefined],
    ['sk_live_made0up', 'live', undefined],
    ['rk_live_made0up', 'live', undefined],
    ['sk_live_made0up', 'test', /^is a live key, but this is test mode: .* sk_test_ or rk_test_$/],
    ['sk_test_made0up', 'live', /^is a test key, but this is live mode: .* sk_live_ or rk_live_$/],
    ['pk_test_made0up', 'test', /^is a publishable key/],
    ['whsec_made0up', 'test', /^must be a secret key of Stripe, which begins with sk_test_ or rk_test_$/],
    ['sk_test_made up', 'test', /^must be a secret key/],
    ['sk_test_', 'test', /^must be a secret key/],
    ['', 'live', /^must be a secret key of Stripe, which begins with sk_live_ or rk_live_$/],
  ]
  for (const [text, mode, issue] of keys) {
    it(`${text || 'without a letter'} is ${issue ? 'rejected' : 'accepted'} in ${mode} mode`, () => {
      const message = secretKey?.validate(text, mode)
      if (issue === undefined) assert.equal(message, undefined)
      else assert.match(message ?? '', issue)
      assert.ok(!message?.includes('made0up'), 'the issue does not repeat the value')
    })
  }

  it('a credential of Stripe for webhooks begins with whsec_ in both modes, and is optional', () => {
    for (const mode of ['test', 'live'] as const) {
      assert.equal(webhookSecret?.validate('whsec_made0up', mode), undefined)
      assert.match(webhookSecret?.validate('sk_test_made0up', mode) ?? '', /^must begin with whsec_/)
    }
    assert.deepEqual(
      STRIPE.credentials.map(({ name, isRequired }) => [name, isRequired]),
      [
        ['secretKey', true],
        ['webhookSecret', false],
      ],
    )
  })

  it('a credential of Stripe that may not read the balance is refused by a probe', async (t) => {
    const gateway = await startFixedReply(t, { http: 403, body: invalid() })
    assert.equal(await gateway.probe?.(), 'refused')
    const firewall = await startFixedReply(t, { http: 403, body: '<h1>Forbidden</h1>' })
    assert.equal(await firewall.probe?.(), 'unreachable')
  })

  it('is not judged by a probe that reaches another server', async (t) => {
    const gateway = await startFixedReply(t, { http: 200, body: '<h1>Welcome</h1>' })
    assert.equal(await gateway.probe?.(), 'unreachable')
  })
})
