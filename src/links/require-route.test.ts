import assert from 'node:assert/strict'
import { it } from 'node:test'
import type { Gateway, Rail } from '../gateways/gateway.ts'
import { fixedGateways } from '../gateways/registry.ts'
import { needsEmail } from './require-route.ts'

const MERCHANT = '0197a3c2-7d51-7cc3-98c4-dc0c0c07398f'
const notHere = () => Promise.reject(new Error('not in this test'))

function gateway(name: string, rail: Rail, worksWithoutEmail?: true): Gateway {
  return {
    name,
    rails: [rail],
    behavior: { keyRetentionHours: 24, cachesErrors: false, lookupByReference: true, worksWithoutEmail },
    startCheckout: notHere,
    verify: notHere,
    parseWebhook: () => ({ kind: 'forged' }),
  }
}

it('a link whose amount the payer chooses asks for an e-mail address if any amount needs one', async () => {
  const small = gateway('small', { currency: 'KES', channels: ['mobile_money'], maximumMinor: 1_000n }, true)
  const large = gateway('large', { currency: 'KES', channels: ['card'], minimumMinor: 500n })
  const app = { gateways: fixedGateways([small, large]) }
  const asks = (amountMinor: bigint | null) =>
    needsEmail(app, MERCHANT, { currency: 'KES', country: 'KE', amountMinor })
  assert.deepEqual([await asks(null), await asks(100n), await asks(2_000n)], [true, false, true])
})
