// What an operator provides for an account at Paymob in Egypt: four keys, and the ids of the integrations that Paymob has
// enabled. The ids decide which channels the account has.

import type { Mode } from '../../core/merchant.ts'
import type { CredentialField } from '../definition.ts'

export interface Account {
  secretKey: string
  publicKey: string
  apiKey: string
  hmacSecret: string | undefined
  card: string | undefined
  wallet: string | undefined
  kiosk: string | undefined
  moto: string | undefined
}

export function readAccount(credentials: Readonly<Record<string, string>>): Account {
  const { secretKey, publicKey, apiKey, hmacSecret } = credentials
  if (!(secretKey && publicKey && apiKey))
    throw new Error('Paymob cannot be opened without its secret key, its public key and its API key')
  const { cardIntegration: card, walletIntegration: wallet } = credentials
  const { kioskIntegration: kiosk, motoIntegration: moto } = credentials
  return { secretKey, publicKey, apiKey, hmacSecret, card, wallet, kiosk, moto }
}

export const CREDENTIALS: readonly CredentialField[] = [
  {
    name: 'secretKey',
    isRequired: true,
    meaning: 'The secret key of the account, from Settings → Account info of the Paymob dashboard in Egypt.',
    validate: (text, mode) => validateKey('sk', text, mode),
  },
  {
    name: 'publicKey',
    isRequired: true,
    meaning: 'The public key of the account, from the same page. It is part of the URL of the payment page.',
    validate: (text, mode) => validateKey('pk', text, mode),
  },
  {
    name: 'apiKey',
    isRequired: true,
    meaning: 'The API key of the account, from the same page. With it the state of payments is asked.',
    validate: validateApiKey,
  },
  {
    name: 'hmacSecret',
    isRequired: false,
    meaning:
      'The HMAC secret of the account, from the same page. Without it callbacks are rejected: payments are found by polling only, and cards are not saved.',
    validate: validateSecret,
  },
  integration(
    'card',
    'The id of the card integration (Developers → Payment integrations): online card, 3DS.',
  ),
  integration('wallet', 'The id of the integration for mobile wallets.'),
  integration('kiosk', 'The id of the integration for kiosks. Its payers choose it on the page for wallets.'),
  integration(
    'moto',
    'The id of the MOTO integration, with which saved cards are charged. Ask Paymob to enable it. Without it saved cards are not offered.',
  ),
]

/** Without any of them the account collects nothing. */
export const COLLECTING_INTEGRATIONS = ['cardIntegration', 'walletIntegration', 'kioskIntegration'] as const

function integration(method: string, meaning: string): CredentialField {
  return { name: `${method}Integration`, isRequired: false, meaning, validate: validateId }
}

// Keys of other countries begin with another country, and belong to another host.
const KEY = /^(?:([a-z]{3})_)?(sk|pk)_(test|live)_[A-Za-z0-9_-]{8,200}$/

function validateKey(kind: 'sk' | 'pk', text: string, mode: Mode): string | undefined {
  const [, country = 'egy', given, keyMode] = KEY.exec(text) ?? []
  if (given !== kind) return `must be the whole key: it begins with egy_${kind}_${mode}_`
  if (country !== 'egy') return 'is of another country: only accounts in Egypt are supported'
  return keyMode === mode ? undefined : `must be a key of ${mode} mode: egy_${kind}_${mode}_…`
}

function validateApiKey(text: string): string | undefined {
  return /^[A-Za-z0-9+/=_-]{20,2000}$/.test(text) && !KEY.test(text)
    ? undefined
    : 'must be the API key, a long text without spaces, and not the secret or public key'
}

function validateSecret(text: string): string | undefined {
  return /^[A-Za-z0-9]{16,200}$/.test(text)
    ? undefined
    : 'must be the HMAC secret as the dashboard shows it: letters and digits'
}

function validateId(text: string): string | undefined {
  return /^[1-9][0-9]{0,11}$/.test(text) ? undefined : 'must be the id of an integration, a whole number'
}
