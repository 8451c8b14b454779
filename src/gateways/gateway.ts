// The contract of a gateway. A connector is pure translation: it does not decide, store or route. An absent
// optional verb is a capability that is missing, so nothing is stubbed.

import type { Currency } from '../core/currency.ts'
import type { FailureCode } from '../core/failures.ts'
import type { Money } from '../core/money.ts'

const PROVIDER_CHANNELS = ['card', 'mobile_money', 'bank_transfer'] as const
const DIRECT_CHANNELS = ['direct_mobile_money', 'direct_bank_transfer'] as const

/** How a provider collects. */
export type ProviderChannel = (typeof PROVIDER_CHANNELS)[number]
/** To an account of the merchant itself: nobody but the merchant can tell that the money came. */
export type DirectChannel = (typeof DIRECT_CHANNELS)[number]
export type Channel = ProviderChannel | DirectChannel

export const CHANNELS: readonly Channel[] = [...PROVIDER_CHANNELS, ...DIRECT_CHANNELS]

export function isDirect(channel: Channel): channel is DirectChannel {
  return DIRECT_CHANNELS.some((one) => one === channel)
}

/** One try at a gateway, as the connector needs to see it. It is on disk before any verb is called with it. */
export interface Attempt {
  /** Our key at the gateway: idempotency key and reference in one, the same for every try of this attempt. */
  key: string
  operation: 'checkout' | 'charge'
  paymentId: string
  merchantId: string
  merchantName: string
  /** The merchant's own reference, for the provider's books; never used as a key. */
  reference: string
  amount: Money
  country: string | null
  description: string | null
  customer: { email: string; firstname: string; lastname: string }
  startedAt: Date
  /** When our checkout closes, for providers that can close theirs with it; null for a charge without the payer. */
  expiresAt: Date | null
}

/** What a gateway is asked about: an attempt as far as its books know it. */
export interface StatusQuery
  extends Pick<Attempt, 'key' | 'operation' | 'amount' | 'startedAt' | 'expiresAt'> {
  /** We know that it was paid: what matters is whether the money was taken back since. */
  isPaid?: true
}

/** What the payer chose on our page: the channel, and what the channel asks for. */
export interface CheckoutChoice {
  channel: Channel
  /** Sandbox only: the test instrument. */
  instrument?: string
  /** E.164, such as +254712345678. */
  phone?: string
  /** The code of a network of core/networks.ts. */
  network?: string
}

/** What to do with the payer next, when the gateway has taken the attempt on. */
export type NextStep =
  | { kind: 'redirect'; url: string }
  | {
      kind: 'prompt'
      /** E.164. */
      phone: string
      /** The network's name as payers know it. */
      network: string
      expiresAt: string
      /** The company that the payer's phone names in the request; absent where the provider does not tell. */
      promptName?: string
    }
  | {
      kind: 'transfer'
      bankName: string
      accountNumber: string
      accountName: string
      narration: string
      expiresAt: string
    }
  | {
      /** As a transfer, to a mobile-money account. */
      kind: 'wallet_transfer'
      /** The network's name as payers know it. */
      network: string
      /** E.164. */
      phoneNumber: string
      accountName: string
      narration: string
      expiresAt: string
    }

export interface StartedCheckout {
  kind: 'started'
  gatewayReference: string
  next: NextStep
}

/** What a provider let us keep for charging again. `credential` is the provider's own token: encrypted at rest. */
export interface SavedMethod {
  type: 'card' | 'mobile_money' | 'bank_account'
  credential: string
  /** The same card saved twice has the same fingerprint. */
  fingerprint: string
  card: {
    brand: string
    last4: string
    expiryMonth: number
    expiryYear: number
    country: string | null
  } | null
  mobileMoney: { network: string; phone: string } | null
  currencies: Currency[]
}

/**
 * Money that a gateway takes back after it was collected, as its books say now. `lost` is also money that was taken back
 * without anybody being asked.
 */
export interface DisputeReport {
  status: 'open' | 'won' | 'lost'
  /** What is disputed, in the currency that was paid. */
  amount: Money
  /** The gateway's own name of the dispute: the same dispute has the same one for ever. */
  reference: string
}

/**
 * The four outcomes. After `unknown` the only legal next step is to verify, or the same request with the same key
 * inside the gateway's key retention.
 */
export type Outcome =
  | {
      kind: 'succeeded'
      gatewayReference: string
      /** What the gateway says it collected, for which key: compared with ours before anything is credited. */
      paid: Money
      key: string
      savedMethod: SavedMethod | null
      paidAt: Date
      /**
       * All disputes about it, the latest first: one may have ended and the next been opened since we asked last. Absent
       * where there is none and where the gateway cannot tell; a gateway for which it is one more call looks only where the
       * query says that it was paid.
       */
      disputes?: readonly DisputeReport[]
    }
  | {
      kind: 'declined'
      code: FailureCode
      message: string
      gatewayReference: string | null
      /**
       * The gateway refused the request itself (a currency that the account does not take, a key that is wrong) and
       * provably began nothing: another gateway may be tried for the same attempt to pay.
       */
      refused?: true
      /** The payment is over with it, however many attempts are left: whoever it is for has said so. */
      final?: true
    }
  | { kind: 'pending'; gatewayReference: string | null }
  | {
      kind: 'unknown'
      /**
       * not_sent: no byte of the request left us, so this try did nothing. not_found: the gateway does not know the
       * key (yet). no_answer and unreadable: it may have acted.
       */
      reason: 'not_sent' | 'not_found' | 'no_answer' | 'unreadable'
      message: string
    }

/** Which attempt a webhook is about. A webhook is a doorbell: its body is never believed. */
export type ParsedWebhook =
  | {
      kind: 'payment'
      key: string
      eventId: string
      /** Also an attempt that has succeeded is to be asked about: its money may have been taken back. */
      isDispute?: true
    }
  /** About a dispute of a payment that the gateway names by its own id alone: `findKey` tells whose it is. */
  | { kind: 'dispute'; gatewayPaymentId: string; eventId: string }
  | { kind: 'ignored'; reason: string }
  | { kind: 'forged' }

export type KeyLookup = { kind: 'key'; key: string | null } | Extract<Outcome, { kind: 'unknown' }>

/** A currency over these countries can be collected through these channels. */
export interface Rail {
  currency: Currency
  /** Absent: any country that uses the currency. */
  countries?: readonly string[]
  channels: readonly Channel[]
  /** The smallest amount and the step between amounts, where the provider cannot take every minor unit. */
  minimumMinor?: bigint
  stepMinor?: bigint
}

export interface RecoveryProperties {
  keyRetentionHours: number
  /** The gateway replays also an error under the same key. */
  cachesErrors: boolean
  lookupByReference: boolean
  /** Its page lets the payer try again after a decline that it has told: declined attempts are watched for a while. */
  paysAfterDecline?: true
  /** It takes one refund of a payment at a time: the next is sent when the one before is known there. */
  sequentialRefunds?: true
  /** It takes no key with a refund, so the same one sent twice is given twice: what may have been sent is only asked about. */
  nonIdempotentRefunds?: true
  /** It makes an attempt due with every change, in the same commit: there is nothing to ask for in between. */
  notifiesOnEveryChange?: true
}

export interface Gateway {
  readonly name: string
  readonly rails: readonly Rail[]
  readonly recovery: RecoveryProperties
  /** Mobile money goes to the phone by a prompt, so our page asks for the number; otherwise the gateway's page does. */
  readonly promptsPhone?: true
  /** What it collects is the merchant's from the first moment: it is recorded, and owed to nobody. */
  readonly settlesDirectly?: true
  /** Test instruments to choose from; only a sandbox has them. */
  readonly instruments?: readonly Instrument[]
  startCheckout(
    attempt: Attempt,
    choice: CheckoutChoice,
    returnUrl: string,
  ): Promise<StartedCheckout | Outcome>
  verify(query: StatusQuery, gatewayReference: string | null): Promise<Outcome>
  parseWebhook(headers: Record<string, string>, rawBody: Buffer): ParsedWebhook
  /** Our key of a payment that a webhook names by the gateway's own id; null when it is none of ours. */
  findKey?(gatewayPaymentId: string): Promise<KeyLookup>
  chargeSaved?(attempt: Attempt, credential: string): Promise<Outcome>
  /** Stops an attempt that the payer has not paid; `declined` when it is off, `succeeded` when it came too late. */
  cancel?(query: StatusQuery, gatewayReference: string | null): Promise<Outcome>
  refund?(refund: RefundRequest): Promise<RefundOutcome>
  verifyRefund?(refund: RefundRequest, gatewayReference: string | null): Promise<RefundOutcome>
  /** A call that changes nothing, to try credentials before they are kept. */
  probe?(): Promise<'works' | 'refused' | 'unreachable'>
}

/** Money back to the payer of a succeeded attempt: all of it or a part. On disk before any verb is called with it. */
export interface RefundRequest {
  /** Our key of this refund, the same for every try. */
  key: string
  attemptKey: string
  /** The gateway's own reference of the attempt that was paid. */
  attemptReference: string
  amount: Money
  /** False for a part of what was paid. */
  isFull: boolean
}

/** As with outcomes: after `unknown` only asking, or the same request under the same key, is allowed. */
export type RefundOutcome =
  | { kind: 'succeeded'; gatewayReference: string }
  | { kind: 'failed'; message: string; gatewayReference: string | null }
  | { kind: 'pending'; gatewayReference: string | null }
  | { kind: 'unknown'; reason: 'not_sent' | 'not_found' | 'no_answer' | 'unreadable'; message: string }

export interface Instrument {
  name: string
  channel: ProviderChannel
  label: string
}
