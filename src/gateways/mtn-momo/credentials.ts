// What an operator provides for one API user of MTN MoMo.

import { isUuid } from '../../core/ids.ts'
import type { Mode } from '../../core/merchant.ts'
import type { CredentialField } from '../definition.ts'
import { SANDBOX, TARGET_ENVIRONMENTS } from './markets.ts'

const field = (
  name: string,
  isRequired: boolean,
  meaning: string,
  validate: CredentialField['validate'],
): CredentialField => ({ name, isRequired, meaning, validate })

export const CREDENTIALS: readonly CredentialField[] = [
  field(
    'targetEnvironment',
    true,
    'The country of the API user as MTN names it (X-Target-Environment), such as mtnuganda; in the sandbox: sandbox. It ' +
      'decides the country and the currency, so each country is an account with its own label.',
    validateTarget,
  ),
  field(
    'subscriptionKey',
    true,
    'The subscription key of the product Collection (Ocp-Apim-Subscription-Key).',
    validateKey,
  ),
  field('apiUser', true, 'The API user of Collection, a UUID.', validateUser),
  field('apiKey', true, 'The API key of the API user of Collection; it is shown once.', validateKey),
  field(
    'disbursementSubscriptionKey',
    false,
    'The subscription key of the product Disbursement, which makes refunds. Without it payments cannot be refunded.',
    validateKey,
  ),
  field(
    'disbursementApiUser',
    false,
    'The API user of Disbursement; without it that of Collection is used.',
    validateUser,
  ),
  field(
    'disbursementApiKey',
    false,
    'The API key of the API user of Disbursement; without it that of Collection is used.',
    validateKey,
  ),
  field(
    'preapprovalSeconds',
    false,
    'For how many seconds a pre-approval is valid, if MTN has enabled pre-approvals for the API user: payers who agree can ' +
      'be charged again. Without it methods are not saved.',
    (text) => (/^[1-9][0-9]{0,8}$/.test(text) ? undefined : 'must be a number of seconds'),
  ),
]

function validateTarget(text: string, mode: Mode): string | undefined {
  if (mode === 'test')
    return text === SANDBOX ? undefined : `must be ${SANDBOX}, because this is a test service`
  if (TARGET_ENVIRONMENTS.includes(text)) return undefined
  return `must be one of ${TARGET_ENVIRONMENTS.join(', ')}`
}

function validateKey(text: string): string | undefined {
  return /^[A-Za-z0-9]{16,128}$/.test(text) ? undefined : 'must be the key alone: letters and digits'
}

function validateUser(text: string): string | undefined {
  return isUuid(text.toLowerCase()) ? undefined : 'must be the UUID of the API user'
}
