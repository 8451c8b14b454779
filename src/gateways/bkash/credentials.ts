// What an operator provides, as bKash sends it when it opens an account for Tokenized Checkout.

import type { Mode } from '../../core/merchant.ts'
import type { CredentialField } from '../definition.ts'

const field = (name: string, meaning: string, validate: CredentialField['validate']): CredentialField => ({
  name,
  isRequired: true,
  meaning,
  validate,
})

export const CREDENTIALS: readonly CredentialField[] = [
  field(
    'appKey',
    'The app key for Tokenized Checkout. No other program may request tokens with it: bKash blocks the account for an ' +
      'hour after more than two requests within an hour.',
    validateKey,
  ),
  field('appSecret', 'The app secret of the same app.', validateKey),
  field('username', 'The user name of the merchant for the API.', validateUsername),
  field('password', 'The password of the same user.', validatePassword),
]

function validateKey(text: string): string | undefined {
  return /^[A-Za-z0-9]{16,128}$/.test(text)
    ? undefined
    : 'must be the text that bKash sent: letters and digits'
}

/** The names of users of the sandbox begin with its name. */
function validateUsername(text: string, mode: Mode): string | undefined {
  if (!/^[\x21-\x7e]{3,100}$/.test(text)) return 'must be the user name that bKash sent, without spaces'
  if (mode === 'live' && /^sandbox/i.test(text)) return 'is a user of the sandbox: set the live one'
  return undefined
}

function validatePassword(text: string): string | undefined {
  return /^[\x21-\x7e]{4,100}$/.test(text)
    ? undefined
    : 'must be the password that bKash sent, without spaces'
}
