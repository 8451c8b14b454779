import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { accountTitle, meansAccount, parseAccountName } from './name.ts'

const GATEWAYS = ['mtn', 'mtn_momo', 'paystack']

describe('the name of a gateway account', () => {
  it('is the name of the gateway, with an optional label', () => {
    assert.deepEqual(parseAccountName(GATEWAYS, 'paystack'), { gateway: 'paystack', label: null })
    assert.deepEqual(parseAccountName(GATEWAYS, 'paystack_ke'), { gateway: 'paystack', label: 'ke' })
  })

  it('belongs to the gateway with the longest name', () => {
    assert.deepEqual(parseAccountName(GATEWAYS, 'mtn_momo'), { gateway: 'mtn_momo', label: null })
    assert.deepEqual(parseAccountName(GATEWAYS, 'mtn_momo_ug'), { gateway: 'mtn_momo', label: 'ug' })
    assert.deepEqual(parseAccountName(GATEWAYS, 'mtn_ug'), { gateway: 'mtn', label: 'ug' })
  })

  it('has a label of one to twelve letters and digits', () => {
    for (const name of [
      'paystack_',
      'paystack_k_e',
      'paystack_KE',
      'paystackke',
      'paystack_1234567890123',
      'stripe',
      '',
    ])
      assert.equal(parseAccountName(GATEWAYS, name), undefined, name)
  })

  it('is meant by an entry with the same name, and by the name of the gateway', () => {
    const account = { name: 'paystack_ke', gateway: 'paystack' }
    assert.deepEqual(
      ['paystack', 'paystack_ke', 'paystack_ng', 'pay'].map((entry) => meansAccount(entry, account)),
      [true, true, false, false],
    )
  })

  it('shows its label in the title', () => {
    assert.equal(accountTitle('MTN MoMo', 'ug'), 'MTN MoMo (UG)')
    assert.equal(accountTitle('MTN MoMo', null), 'MTN MoMo')
  })
})
