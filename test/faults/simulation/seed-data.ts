// The rows before a schedule starts: a merchant, and customers with a saved card.

import { createHash } from 'node:crypto'
import type { Merchant } from '../../../src/core/merchant.ts'
import type { Vault, VaultContext } from '../../../src/kit/crypto.ts'
import type { Random } from '../../../src/kit/random.ts'
import type { Row, Store } from './model/store.ts'

export interface ReturningCustomer {
  email: string
  recurringToken: string
}

const contextKeyOf = ({ table, column, rowId, merchantId }: VaultContext) =>
  Buffer.from([table, column, rowId, merchantId].join('|')).toString('base64url')

/** Encryption is tested elsewhere and would be the main cost here: this cipher only checks the context of a text. */
export const PLAINTEXT_VAULT: Vault = {
  keyId: 'none',
  seal: (text, context) => `v1.${contextKeyOf(context)}.${text}`,
  open: (sealed, context) => {
    const prefix = `v1.${contextKeyOf(context)}.`
    if (!sealed.startsWith(prefix)) throw new Error('this text was sealed in another context')
    return sealed.slice(prefix.length)
  },
}

export function seedWorld(
  store: Store,
  random: Random,
  at: Date,
): { merchant: Merchant; returningCustomers: ReturningCustomer[] } {
  const merchant: Merchant = { id: random.uuid(), name: 'Shop', mode: 'test', baseCurrency: 'KES' }
  const session = store.begin()
  const times = { created_at: at, updated_at: at }
  const returningCustomers = store.run(session, (access) => {
    const { id, name, mode } = merchant
    access.insert('merchants', { id, name, mode, base_currency: 'KES', ...times })
    return ['amina', 'brian'].map((firstname) => {
      const email = `${firstname}@example.com`
      const customer = access.insert('customers', {
        ...{ merchant_id: id, id: random.uuid(), email, email_key: email, firstname, lastname: 'Odhiambo' },
        ...{ search_text: `${firstname} odhiambo ${email}`, ...times },
      })
      const recurringToken = `rtk_${random.uuid()}`
      access.insert('payment_methods', methodOf(random, customer, recurringToken, at))
      return { email, recurringToken }
    })
  })
  store.commit(session)
  return { merchant, returningCustomers }
}

function methodOf(random: Random, customer: Row, token: string, at: Date) {
  const id = random.uuid()
  const { merchant_id, id: customer_id, email } = customer
  const merchantId = String(merchant_id)
  const seal = (text: string, column: string) =>
    PLAINTEXT_VAULT.seal(text, { table: 'payment_methods', column, rowId: id, merchantId })
  return {
    ...{ merchant_id, id, customer_id, type: 'card', gateway: 'alpha' },
    // Another payment with it in a checkout uses the same card.
    fingerprint: `card of ${email}`,
    token_hash: createHash('sha256').update(token).digest(),
    token_sealed: seal(token, 'token_sealed'),
    credential_sealed: seal('credential', 'credential_sealed'),
    currencies: ['KES'],
    card: { brand: 'Visa', last4: '4242', expiryMonth: 12, expiryYear: 2099, country: 'KE' },
    is_default: true,
    is_recurring_intent: true,
    expires_at: new Date(Date.UTC(2100, 0, 1)),
    last_used_at: at,
    created_at: at,
    save_id: random.uuid(),
  }
}
