// Pre-approvals of MTN MoMo: the payer approves once that later requests to pay are debited without a PIN. So a
// pre-approval is a saved method. Its id is derived from the key of the checkout that asks for it.

import { createHash } from 'node:crypto'
import { type Static, Type } from 'typebox'
import { type Currency, isCurrency } from '../../core/currency.ts'
import { uuidV4 } from '../../core/ids.ts'
import { jsonReader, schemaReader } from '../../kit/exact-json.ts'
import type { HttpResult } from '../../kit/http/http-client.ts'
import type { Attempt, Outcome } from '../gateway.ts'
import { type Declined, declined, Maybe, readTime, refused, type Unknown, unrecognized } from '../reply.ts'
import type { SavedMethod } from '../saved-method.ts'
import { readRecord } from './response.ts'
import { type PaymentBody, toParty, toPayerMessage } from './wire.ts'

export function preapprovalIdOf(key: string): string {
  return uuidV4(createHash('sha256').update(`mtn_momo pre-approval ${key}`).digest())
}

export interface PreapprovalBody {
  payer: PaymentBody['payer']
  payerCurrency: Currency
  payerMessage: string
  validityTime: number
}

export function toPreapprovalBody(attempt: Attempt, phone: string, validitySeconds: number): PreapprovalBody {
  return {
    payer: toParty(phone),
    payerCurrency: attempt.amount.currency,
    payerMessage: toPayerMessage(attempt) || attempt.paymentId,
    validityTime: validitySeconds,
  }
}

const Text = Type.String({ maxLength: 200 })

const Preapproval = Type.Object({
  status: Text,
  payer: Maybe(Type.Object({ partyId: Text })),
  payerCurrency: Maybe(Text),
  expirationDateTime: Maybe(Text),
})
export type Preapproval = Static<typeof Preapproval>

const readBody = schemaReader(Preapproval)

export const readPreapproval = (result: HttpResult): Preapproval | Unknown => readRecord(result, readBody)

const readList = schemaReader(Type.Array(Type.Object({ status: Text })))

const NOT_IN_FORCE: readonly string[] = ['CANCELLED', 'CREATED', 'EXPIRED', 'PENDING', 'REJECTED']

/** Whether a number has a pre-approval that is in force, or may be. */
export function readIsApproved(
  result: HttpResult,
): { kind: 'listed'; isApproved: boolean } | Unknown | Declined {
  const list = readRecord(result, readList)
  if (Array.isArray(list))
    return { kind: 'listed', isApproved: list.some(({ status }) => !NOT_IN_FORCE.includes(status)) }
  if (list.reason === 'not_found') return { kind: 'listed', isApproved: false }
  return list.reason === 'unrecognized' ? refused('provider_unavailable', list.message) : list
}

/** The record has no id of ours, so what it says of the payer is compared. */
export function isOf({ payer, payerCurrency }: Preapproval, { phone, currency }: Holder): boolean {
  const isPayer = !payer || payer.partyId === toParty(phone).partyId
  return isPayer && (!payerCurrency || payerCurrency === currency)
}

/** Who has approved, and for what. */
export interface Holder {
  phone: string
  currency: Currency
}

/** The outcome of a checkout that is not requested yet. If the payer has approved, we request it. */
export function fromPreapproval(record: Preapproval, key: string, holder: Holder): Outcome {
  if (!isOf(record, holder)) return unrecognized('MTN MoMo answered about the pre-approval of another payer')
  switch (record.status) {
    case 'CREATED':
    case 'PENDING':
      return { kind: 'pending', gatewayReference: key }
    case 'APPROVED':
      return { kind: 'pending', gatewayReference: key, canComplete: true }
    case 'CANCELLED':
    case 'REJECTED':
      return declined(
        key,
        'customer_cancelled',
        `MTN MoMo answered that the pre-approval is ${record.status}`,
      )
    case 'EXPIRED':
      return declined(key, 'customer_timeout', 'MTN MoMo answered that the pre-approval is EXPIRED')
    default:
      return unrecognized('MTN MoMo answered a status of a pre-approval that we do not know')
  }
}

const readCredential = jsonReader(
  Type.Object({ preapproval: Text, phone: Type.String({ pattern: '^\\+[0-9]{6,15}$' }), currency: Text }),
)

export interface Credential extends Holder {
  preapproval: string
}

/** Undefined if it was not made here. */
export function parseCredential(text: string): Credential | undefined {
  const credential = readCredential(text)
  if (!credential || !isCurrency(credential.currency)) return undefined
  return { ...credential, currency: credential.currency }
}

/** The method that a paid checkout saves; null if the payer has not approved it. */
export function toSavedMethod(record: Preapproval, key: string, holder: Holder): SavedMethod | null {
  if (record.status !== 'APPROVED' || !isOf(record, holder)) return null
  const { phone, currency } = holder
  const credential: Credential = { preapproval: preapprovalIdOf(key), phone, currency }
  const tokenExpiresAt = readTime(record.expirationDateTime)
  return {
    type: 'mobile_money',
    credential: JSON.stringify(credential),
    fingerprint: createHash('sha256').update(`mtn_momo ${phone} ${currency}`).digest('hex'),
    card: null,
    mobileMoney: { network: 'MTN MoMo', phone },
    currencies: [currency],
    ...(tokenExpiresAt && { tokenExpiresAt }),
  }
}
