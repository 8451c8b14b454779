// Serializes a record for the provider's API.

import { FAILURES } from '../../../core/failures.ts'
import { findNetwork } from '../../../core/networks.ts'
import { factsOf } from '../instruments.ts'
import type { RecordBody } from '../wire.ts'
import { type CheckoutFacts, fingerprintOf, isFinal, type SandboxRecord, tokenOf } from './record.ts'

/** `pagesUrl` is the URL of the payers' pages, before the page's token. */
export function serializeRecord(record: SandboxRecord, pagesUrl: string): RecordBody {
  return {
    id: record.uuid,
    key: record.key,
    order: record.order,
    kind: record.kind,
    status: record.status,
    amount: record.amount,
    currency: record.currency,
    paid: record.paid,
    declineCode: record.declineCode,
    message: record.declineCode && FAILURES[record.declineCode].message,
    createdAt: record.createdAt,
    endedAt: record.endedAt,
    next: serializeNextStep(record, pagesUrl),
    card: serializeCard(record),
    receiptNumber: receiptNumberOf(record),
    dispute: record.dispute ?? null,
    pastDisputes: record.pastDisputes ?? [],
  }
}

function serializeNextStep(record: SandboxRecord, pagesUrl: string): RecordBody['next'] {
  const { checkout } = record
  if (!checkout || isFinal(record)) return null
  const expiresAt = checkout.closesAt
  switch (record.channel) {
    case 'card':
      return { kind: 'redirect', url: `${pagesUrl}/${checkout.pageToken}` }
    case 'mobile_money':
      return { ...serializePrompt(checkout), expiresAt }
    case 'bank_transfer':
      return {
        kind: 'transfer',
        bankName: 'Sandbox Bank',
        accountNumber: accountNumberOf(record),
        accountName: checkout.merchantName,
        narration: checkout.pageToken.slice(0, 8).toUpperCase(),
        expiresAt,
      }
  }
}

// The prompted number if none was named: no operator issues it.
const PLACEHOLDER_PHONE = '+254700000000'

function serializePrompt({ phone, network, merchantName }: CheckoutFacts) {
  return {
    kind: 'prompt' as const,
    phone: phone ?? PLACEHOLDER_PHONE,
    network: (network === null ? undefined : findNetwork(network)?.name) ?? 'Sandbox Mobile',
    promptName: merchantName,
  }
}

/** Ten digits derived from the record's identity, the same each time. */
function accountNumberOf(record: SandboxRecord): string {
  const digits = BigInt(`0x${record.uuid.replaceAll('-', '')}`) % 10_000_000_000n
  return String(digits).padStart(10, '0')
}

/** Ten letters and digits like an M-Pesa code, derived from the record's identity; only mobile money has one. */
function receiptNumberOf(record: SandboxRecord): string | null {
  if (record.channel !== 'mobile_money' || record.status !== 'succeeded') return null
  const code = BigInt(`0x${record.uuid.replaceAll('-', '')}`)
    .toString(36)
    .toUpperCase()
  return `S${code.slice(-9).padStart(9, '0')}`
}

const CARD_YEARS = 4

function serializeCard(record: SandboxRecord): RecordBody['card'] {
  if (record.kind !== 'checkout' || record.status !== 'succeeded' || !record.instrument) return null
  const { savedCardCharge, last4 } = factsOf(record.instrument)
  if (!savedCardCharge || !last4) return null
  return {
    token: tokenOf(record),
    fingerprint: fingerprintOf(record),
    brand: 'visa',
    last4,
    expiryMonth: 12,
    expiryYear: new Date(record.createdAt).getUTCFullYear() + CARD_YEARS,
    country: record.country,
  }
}
