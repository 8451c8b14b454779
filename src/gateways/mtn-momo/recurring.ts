// Checkouts that save the method, and charges of saved methods, for accounts with pre-approvals. Such a checkout has two
// steps: the payer approves the pre-approval on the phone, then we request the payment, which MTN debits without a PIN.

import { addMs, type Clock } from '../../kit/clock.ts'
import type { Attempt, Gateway, Outcome, StatusQuery } from '../gateway.ts'
import { assumeSubmitted, declined, refused, type Succeeded, unknown } from '../reply.ts'
import type { Product } from './client.ts'
import { type CallbackAddress, type Payments, REPEATED } from './payments.ts'
import {
  fromPreapproval,
  type Holder,
  isOf,
  parseCredential,
  preapprovalIdOf,
  readIsApproved,
  readPreapproval,
  toPreapprovalBody,
  toSavedMethod,
} from './preapproval.ts'
import { type Busy, readSubmission } from './response.ts'
import { toApprovedBody, toParty, toPaymentBody } from './wire.ts'

interface Account {
  collection: Product
  payments: Payments
  callback(key: string): CallbackAddress
  validitySeconds: number
  clock: Clock
}

// Longer than most failures. The payment itself does not wait.
const SAVE_WITHIN_MS = 24 * 3_600_000

export interface Recurring extends Required<Pick<Gateway, 'verify' | 'complete' | 'chargeSaved'>> {
  /** Asks the payer for a pre-approval, or for the payment alone. Pending: MTN has accepted the request. */
  begin(attempt: Attempt, phone: string, isSaved: boolean): Promise<Outcome | Busy>
}

type Asked = Outcome | Busy | { kind: 'unavailable' }

export function openRecurring(account: Account): Recurring {
  const { collection, payments, callback, validitySeconds, clock } = account
  const find = (id: string) => collection.get(`/v2_0/preapproval/${id}`, readPreapproval)

  /** If MTN does not answer it is asked again for a while. The payment is paid, whatever it answers. */
  const withMethod = async (paid: Succeeded, query: StatusQuery, holder: Holder): Promise<Outcome> => {
    const { key, startedAt } = query
    const record = await find(preapprovalIdOf(key))
    if (!('kind' in record)) return { ...paid, savedMethod: toSavedMethod(record, key, holder) }
    // Not found, or an error that will not change: the payment was requested without a pre-approval.
    const isOver = record.reason === 'not_found' || record.reason === 'unrecognized'
    if (isOver || clock.now() > addMs(startedAt, SAVE_WITHIN_MS)) return paid
    return { ...paid, isMethodPending: true }
  }

  /** A pre-approval that is not saved must not stay in force. If MTN does not answer, it ends with its validity. */
  const removePreapproval = (key: string) => collection.remove(`/v1_0/preapproval/${preapprovalIdOf(key)}`)

  const verify = async (query: StatusQuery): Promise<Outcome> => {
    const { key, operation, phone, savesMethod } = query
    const outcome = await payments.verify(key)
    if (operation === 'charge' || phone === undefined) return outcome
    const holder = { phone, currency: query.amount.currency }
    if (outcome.kind === 'succeeded') return savesMethod ? withMethod(outcome, query, holder) : outcome
    if (outcome.kind !== 'unknown' || outcome.reason !== 'not_found') return outcome
    const record = await find(preapprovalIdOf(key))
    return 'kind' in record ? record : fromPreapproval(record, key, holder)
  }

  /** `unavailable`: MTN gives no pre-approval, and nothing was begun. */
  const askApproval = async (attempt: Attempt, phone: string): Promise<Asked> => {
    const { key, amount } = attempt
    const submission = {
      id: preapprovalIdOf(key),
      body: toPreapprovalBody(attempt, phone, validitySeconds),
      ...callback(key),
    }
    const reply = await collection.submit('/v2_0/preapproval', readSubmission, submission)
    const ask = () => verify({ ...attempt, amount, phone })
    switch (reply.kind) {
      case 'accepted':
        return { kind: 'pending', gatewayReference: key }
      case 'repeated':
        return assumeSubmitted(await ask(), REPEATED)
      case 'denied': {
        const outcome = await ask()
        return isNotFound(outcome) ? { kind: 'unavailable' } : assumeSubmitted(outcome, REPEATED)
      }
      case 'rejected':
        return { kind: 'unavailable' }
      default:
        return reply
    }
  }

  /**
   * Anyone who has the link of a checkout can enter any number, and MTN debits a number with a pre-approval without its
   * owner. So the owner of such a number approves again, on the phone.
   */
  const begin: Recurring['begin'] = async (attempt, phone, isSaved) => {
    const asked = isSaved ? await askApproval(attempt, phone) : UNAVAILABLE
    if (asked.kind !== 'unavailable') return asked
    const path = `/v1_0/preapprovals/MSISDN/${toParty(phone).partyId}`
    const listed = await collection.submit(path, readIsApproved)
    if (listed.kind !== 'listed') return listed
    if (!listed.isApproved) return payments.request(toPaymentBody(attempt, phone))
    const again = isSaved ? UNAVAILABLE : await askApproval(attempt, phone)
    return again.kind === 'unavailable' ? NOT_SAFE : again
  }

  return {
    verify,
    begin,

    /** The id of the request is our key, so MTN executes it once even if the call is repeated. */
    async complete(query, gatewayReference) {
      const { phone } = query
      if (phone === undefined) return refused('provider_unavailable', 'MTN MoMo needs a phone number')
      const outcome = await payments.request(toApprovedBody(query, phone))
      if (outcome.kind === 'busy') return { kind: 'pending', gatewayReference, canComplete: true }
      // The owner of the number has approved this payment alone, or it is not made. If that is unknown it is made again.
      const isUnneeded = outcome.kind === 'declined' || (outcome.kind !== 'unknown' && !query.savesMethod)
      if (isUnneeded) await removePreapproval(query.key)
      return outcome
    },

    async chargeSaved(attempt, text) {
      const credential = parseCredential(text)
      if (!credential)
        return declined(null, 'authentication_required', 'the saved method is not a pre-approval')
      const path = `/v2_0/preapproval/${credential.preapproval}`
      const record = await collection.submit(path, readPreapproval)
      if ('kind' in record && !isNotFound(record)) return record
      // Without an approval MTN would prompt the payer, who does not expect it.
      if ('kind' in record || record.status !== 'APPROVED' || !isOf(record, credential))
        return assumeSubmitted(await payments.verify(attempt.key), NOT_APPROVED)
      const outcome = await payments.request(toPaymentBody(attempt, credential.phone))
      return outcome.kind === 'busy' ? unknown('no_answer', outcome.message) : outcome
    },
  }
}

const UNAVAILABLE: Asked = { kind: 'unavailable' }

const NOT_SAFE: Outcome = refused(
  'provider_unavailable',
  'the number has a pre-approval, and MTN MoMo would debit it without its owner',
)

const NOT_APPROVED: Outcome = declined(
  null,
  'authentication_required',
  'MTN MoMo has no valid pre-approval any more',
)

function isNotFound(outcome: { kind: string }): boolean {
  return outcome.kind === 'unknown' && 'reason' in outcome && outcome.reason === 'not_found'
}
