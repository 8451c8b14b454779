// What an operator provides: an app of the developer portal, the shortcode with its passkey, and optionally what is needed
// for the list of payments and for refunds.

import type { Mode } from '../../core/merchant.ts'
import type { CredentialField } from '../definition.ts'
import type { App } from './api.ts'
import { type Payee, toMsisdn } from './push.ts'
import type { Initiator } from './refunds.ts'

const TOKEN = /^[\x21-\x7e]{8,200}$/
const validateToken = (text: string) =>
  TOKEN.test(text) ? undefined : 'must be the text of the developer portal, without spaces'

/** The shortcode of everybody's sandbox. */
const SANDBOX_SHORTCODE = '174379'

function validateShortcode(text: string, mode: Mode): string | undefined {
  if (!/^\d{5,7}$/.test(text)) return 'must be a shortcode: five to seven digits'
  if (mode === 'live' && text === SANDBOX_SHORTCODE)
    return 'must be your own shortcode, not that of the sandbox'
  return undefined
}

const optional = (name: string, meaning: string, validate: CredentialField['validate']): CredentialField => ({
  name,
  isRequired: false,
  meaning,
  validate,
})

const required = (name: string, meaning: string, validate: CredentialField['validate']): CredentialField => ({
  ...optional(name, meaning, validate),
  isRequired: true,
})

export const CREDENTIALS: readonly CredentialField[] = [
  required('consumerKey', 'The consumer key of the app in the Daraja portal.', validateToken),
  required('consumerSecret', 'The consumer secret of the same app.', validateToken),
  required(
    'shortcode',
    'The paybill, or for a till the shortcode of its store (head office); the sandbox has 174379.',
    validateShortcode,
  ),
  required(
    'passkey',
    'The passkey of the shortcode for M-Pesa Express; Safaricom sends it by e-mail when the shortcode goes live.',
    (text) =>
      /^[0-9a-zA-Z]{20,100}$/.test(text) ? undefined : 'must be the passkey: letters and digits only',
  ),
  optional(
    'till',
    'The till (Buy Goods) to which payers pay; without it they pay to the paybill.',
    validateShortcode,
  ),
  optional(
    'pullNumber',
    'The phone number that is nominated for Pull Transactions of the paybill, such as +254712345678. With it a payment whose ' +
      'answer was lost is found in the list of payments; without it a person must look.',
    (text) => (toMsisdn(text) ? undefined : 'must be a Kenyan mobile number such as +254712345678'),
  ),
  optional(
    'initiator',
    'The name of the API user that may refund (role Org Reversals Initiator, or B2C initiator). Without it there are no refunds.',
    (text) => (/^[\x20-\x7e]{1,100}$/.test(text) ? undefined : 'must be the name of the API user'),
  ),
  optional(
    'securityCredential',
    'The password of the initiator, encrypted with the certificate of the environment, in Base64, as the portal makes it.',
    (text) =>
      /^[A-Za-z0-9+/]{300,}={0,2}$/.test(text)
        ? undefined
        : 'must be the encrypted password in Base64 on one line, not the password itself',
  ),
  optional(
    'payoutShortcode',
    'The B2C shortcode from which refunds are paid out, with the initiator of that shortcode. Without it refunds are reversals.',
    validateShortcode,
  ),
  optional(
    'payoutConsumerKey',
    'The consumer key of the app that has B2C: an app has either C2B or B2C.',
    validateToken,
  ),
  optional('payoutConsumerSecret', 'The consumer secret of the app that has B2C.', validateToken),
]

export interface DarajaAccount {
  app: App
  payee: Payee
  /** Digits only. */
  pullNumber: string | undefined
  refunds: { app: App; initiator: Initiator; isPayout: boolean } | undefined
}

export function readAccount(credentials: Readonly<Record<string, string>>): DarajaAccount {
  const { consumerKey, consumerSecret, shortcode, passkey, till, pullNumber } = credentials
  if (!consumerKey || !consumerSecret || !shortcode || !passkey)
    throw new Error('Daraja cannot be opened without consumerKey, consumerSecret, shortcode and passkey')
  const app: App = { name: 'payments', consumerKey, consumerSecret }
  // Payments to a till have no account number, so the list cannot tell them apart.
  const listNumber = till ? undefined : toMsisdn(pullNumber)
  return {
    app,
    payee: { shortcode, passkey, ...(till && { till }) },
    pullNumber: listNumber,
    refunds: readRefunds(credentials, app, shortcode),
  }
}

function readRefunds(
  credentials: Readonly<Record<string, string>>,
  app: App,
  shortcode: string,
): DarajaAccount['refunds'] {
  const { initiator: name, securityCredential, payoutShortcode } = credentials
  if (!name || !securityCredential) return undefined
  const { payoutConsumerKey, payoutConsumerSecret } = credentials
  const hasOwnApp = payoutShortcode && payoutConsumerKey && payoutConsumerSecret
  return {
    app: hasOwnApp
      ? { name: 'payouts', consumerKey: payoutConsumerKey, consumerSecret: payoutConsumerSecret }
      : app,
    initiator: { name, securityCredential, shortcode: payoutShortcode || shortcode },
    isPayout: Boolean(payoutShortcode),
  }
}
