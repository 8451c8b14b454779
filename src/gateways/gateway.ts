// The gateway contract. A connector is pure translation: it does not decide, store or route. An absent optional
// operation is a missing capability, so nothing is stubbed.

import type { MethodConsent } from '../consents/consent.ts'
import type { Currency } from '../core/currency.ts'
import type { FailureCode } from '../core/failures.ts'
import type { Money } from '../core/money.ts'
import type { CallbackSubject } from '../secrets/callback-paths.ts'
import type { SavedMethod } from './saved-method.ts'

const PROVIDER_CHANNELS = ['card', 'mobile_money', 'bank_transfer'] as const
const DIRECT_CHANNELS = ['direct_mobile_money', 'direct_bank_transfer'] as const

/** Channels through which a provider collects. */
export type ProviderChannel = (typeof PROVIDER_CHANNELS)[number]
/** The payer sends the money to the merchant's own account, so only the merchant can confirm that it arrived. */
export type DirectChannel = (typeof DIRECT_CHANNELS)[number]
export type Channel = ProviderChannel | DirectChannel

export const CHANNELS: readonly Channel[] = [...PROVIDER_CHANNELS, ...DIRECT_CHANNELS]

export function isDirect(channel: Channel): channel is DirectChannel {
  return DIRECT_CHANNELS.some((one) => one === channel)
}

/** One attempt at a gateway, as the connector sees it. It is committed before any operation is called with it. */
export interface Attempt {
  /** Our key at the gateway: idempotency key and reference in one, the same for every retry of this attempt. */
  key: string
  operation: 'checkout' | 'charge'
  paymentId: string
  merchantId: string
  merchantName: string
  /** The merchant's own reference, shown in the provider's dashboard; never used as a key. */
  reference: string
  amount: Money
  country: string | null
  description: string | null
  /** The phone is E.164: the number that the merchant sent, or that the payer entered on our page. */
  customer: { email: string; firstname: string; lastname: string; phone?: string }
  startedAt: Date
  /** When our checkout expires, for providers whose page can expire with it; null for a charge without the payer. */
  expiresAt: Date | null
}

/** What a status check sends: the part of an attempt that the gateway knows. */
export interface StatusQuery
  extends Pick<Attempt, 'key' | 'operation' | 'amount' | 'startedAt' | 'expiresAt'> {
  /** We know that it was paid, so the check only looks for disputes and reversals since then. */
  isPaid?: true
  /** The report of a callback about this attempt (`CallbackReport`), if one has arrived. */
  report?: string
  /** The number that the payer entered on our page, E.164. */
  phone?: string
  /** The phone of the customer of the attempt. */
  customerPhone?: string
  /** The payer agreed that the method is saved, and it is not saved yet. */
  savesMethod?: true
}

/** The payer's choice on our page: the channel, and the input that the channel needs. */
export interface CheckoutChoice {
  channel: Channel
  /** Sandbox only: the test instrument. */
  instrument?: string
  /** E.164, such as +254712345678. */
  phone?: string
  /** The payer's number for a provider that wants one (`needsPhone`), E.164; it is not prompted. */
  contactPhone?: string
  /** The code of a network in core/networks.ts. */
  network?: string
  /** The payer's consent to save the method. Null: it must not be saved. Absent: the payer was not asked. */
  consent?: MethodConsent | null
}

/** What the payer does next, after the gateway has accepted the attempt. */
export type NextStep =
  | { kind: 'redirect'; url: string }
  | {
      kind: 'prompt'
      /** E.164. */
      phone: string
      /** The network's name as payers know it. */
      network: string
      expiresAt: string
      /** The company name in the prompt on the payer's phone; absent if the provider does not say. */
      promptName?: string
    }
  | {
      kind: 'transfer'
      bankName: string
      accountNumber: string
      /** Empty if the provider does not say it. */
      accountName: string
      /** What the payer must write; empty if the account is for this payment alone. */
      narration: string
      expiresAt: string
    }
  | {
      /** Like a transfer, but to a mobile-money account. */
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

/** A chargeback as the gateway reports it now. `lost` also covers money that was reversed without a dispute. */
export interface DisputeReport {
  status: 'open' | 'won' | 'lost'
  /** The disputed amount, in the currency of the payment. */
  amount: Money
  /** The gateway's dispute id, which never changes. */
  reference: string
  /** Until when the gateway accepts a response of the merchant. Absent: it does not say, or waits for none. */
  respondBy?: Date
}

export type UnknownReason = 'not_sent' | 'not_found' | 'no_answer' | 'unreadable' | 'unrecognized'

/** After `unknown` the only legal next step is a status check, or the same request with the same key while it is kept. */
export type Outcome =
  | {
      kind: 'succeeded'
      gatewayReference: string
      /** The number by which the payer or the provider's dashboard names the payment, such as an M-Pesa code. */
      receiptNumber?: string
      /** The amount that the gateway reports, and for which key; compared with ours before anything is credited. */
      paid: Money
      /** The provider's fee that it keeps of the payment, in the same currency; absent if it does not say exactly. */
      fee?: Money
      key: string
      savedMethod: SavedMethod | null
      /** The provider did not answer whether the method can be charged again: it is asked again, after the payment. */
      isMethodPending?: true
      /** Null if the provider does not say it: then it is the time at which we learned of the payment. */
      paidAt: Date | null
      /**
       * All disputes about the payment, latest first: one may have ended and another opened since the last check.
       * Absent if there is none or the gateway cannot report them. A gateway that needs one more call for them makes it
       * only if `isPaid`.
       */
      disputes?: readonly DisputeReport[]
    }
  | {
      kind: 'declined'
      code: FailureCode
      message: string
      gatewayReference: string | null
      /**
       * The gateway refused the request itself (unsupported currency, wrong API key) and provably began nothing, so
       * another gateway may be tried for the same attempt.
       */
      refused?: true
      /** The payment fails even if attempts are left, because the payee confirmed that no money arrived. */
      final?: true
    }
  | {
      kind: 'pending'
      gatewayReference: string | null
      /** The payer has confirmed, or may have, and the provider moves the money when we call `complete`. */
      canComplete?: true
      /** The method settles in days: until then a pending payment needs no case. */
      settlesBy?: Date
    }
  | {
      kind: 'unknown'
      /**
       * not_sent: no byte of the request was sent, so this call had no effect. not_found: the gateway does not know the
       * key (yet). no_answer and unreadable: the gateway may have acted. unrecognized: the response is well formed, but
       * has a value that we do not know; the gateway works, so the circuit breaker does not count it.
       */
      reason: UnknownReason
      message: string
      /** Only of `complete`: the provider has answered, but the call that moves the money was not made. */
      unsent?: true
    }

/** A webhook as it arrived. */
export interface WebhookRequest {
  method: 'POST' | 'PUT'
  /** Names in lower case. */
  headers: Record<string, string>
  query: Record<string, string>
  rawBody: Buffer
  /** What the secret path proves (`Connection.callbackUrl`); null at the plain paths, which prove nothing. */
  callback: CallbackSubject | null
}

/** Why a webhook about a payment was sent. */
interface PaymentNotification {
  kind: 'payment'
  eventId: string
  /** A succeeded attempt is checked too, because its money may have been taken back. */
  isDispute?: true
  /** The provider is asked which refunds of the payment it has: one may have been made there. */
  isRefund?: true
}

/** What a provider says only in its callback. It ends nothing by itself: the status check that follows gets it. */
export interface CallbackReport {
  /**
   * JSON that the connector made, at most 4 KB, without secrets. It is stored only if the callback came to the secret
   * path of this attempt or refund.
   */
  report?: string
  /** It replaces a report that is not final, and no other replaces it. Without this the first report is kept. */
  isFinalReport?: true
}

/** Which attempt or refund a webhook is about. It only triggers a status check; its body is never trusted. */
export type ParsedWebhook =
  | (PaymentNotification &
      CallbackReport & {
        key: string
        gatewayReference?: undefined
        /** The provider's object that the webhook names: what to ask about if its reference is not known. */
        referenceHint?: string
      })
  /** The webhook has only the provider's id. It is matched again later if that is not stored yet. */
  | (PaymentNotification & { key?: undefined; gatewayReference: string })
  /** About a refund that we requested, by our key of the refund. */
  | ({ kind: 'own_refund'; key: string } & CallbackReport)
  /** About a payment that the webhook names only by the gateway's id; `findKey` returns our key. */
  | { kind: 'dispute' | 'refund'; gatewayPaymentId: string; eventId: string }
  | { kind: 'ignored'; reason: string }
  | { kind: 'forged' }

export type KeyLookup = { kind: 'key'; key: string | null } | Extract<Outcome, { kind: 'unknown' }>

/** A currency that can be collected in these countries through these channels. */
export interface Rail {
  currency: Currency
  /** Absent: every country that uses the currency. */
  countries?: readonly string[]
  channels: readonly Channel[]
  /** The smallest and the largest amount, and the step between amounts, if the provider cannot take every amount. */
  minimumMinor?: bigint
  maximumMinor?: bigint
  stepMinor?: bigint
  /** Mobile money is a prompt on the phone, so our page asks for the number; otherwise the provider's page does. */
  prompts?: true
  /** The networks that mobile money reaches (codes of core/networks.ts). Absent: all networks of the country. */
  networks?: readonly string[]
  /** Those of them whose payers always pay on the provider's page, although the others are prompted. */
  pageNetworks?: readonly string[]
  /** The provider wants a number of every payer, so our page asks for it unless the merchant has sent one. */
  needsPhone?: true
  /** Mobile money can be charged again if the payer agrees, so our page asks; `chargeSaved` charges it. */
  saves?: true
  /** A bank transfer goes to an account that our page shows; otherwise the provider's page shows it. */
  transfers?: true
  /** Where payers have a local way to pay; elsewhere only international cards are taken. Absent: all countries of the rail. */
  localIn?: readonly string[]
  /** Of the sandbox: the rails of the real connectors. A way that none of them has in that place is only for tests. */
  connectors?: readonly Rail[]
}

/** How a provider treats keys, repeated requests, refunds and declined payers: it decides what is polled and submitted again. */
export interface GatewayBehavior {
  keyRetentionHours: number
  /** The gateway also replays an error under the same key. */
  cachesErrors: boolean
  lookupByReference: boolean
  /** Its page lets the payer retry after a decline that was already reported, so declined attempts are polled a while. */
  paysAfterDecline?: true
  /** It takes one refund of a payment at a time: the next one is sent when the gateway knows the one before. */
  sequentialRefunds?: true
  /** It has no key for refunds and would execute a repeated one twice: one that may have been sent is only checked. */
  nonIdempotentRefunds?: true
  /** It is sent no e-mail address of the payer, so a payment link does not ask for one. */
  worksWithoutEmail?: true
  /** It returns only the whole paid amount. */
  fullRefundsOnly?: true
  /** `listRefunds` answers about one payment at a time, so the paid ones are asked about one by one, a few times each. */
  listsRefundsByPayment?: true
  /** It marks an attempt due in the same transaction as every change, so polling in between is not needed. */
  notifiesOnEveryChange?: true
  /**
   * It has no idempotency key: a request that is sent again may be executed again. So an attempt that may have been sent is
   * never submitted again. `verify` looks for it by other means, such as a list. That it finds nothing proves that the
   * request never arrived, but only this long after the attempt. Null: it proves nothing, and a person decides.
   */
  notResendable?: { absentAfterHours: number | null }
  /**
   * The page of a checkout can be paid only by a payer who has its URL, and only the response to `startCheckout` has it. If
   * that is lost, a new attempt is safe at once. The old one is polled on. Does not apply to prompts on a phone.
   */
  lostPageIsUnpayable?: true
  /**
   * After this a call of `complete` is over at the provider too: longer than its own time limit. Until then the payer cannot
   * pay in another way, because both could be paid. Absent: five minutes.
   */
  completesWithinMs?: number
}

export interface Gateway {
  readonly name: string
  readonly rails: readonly Rail[]
  readonly behavior: GatewayBehavior
  /** The merchant receives the money directly: it is recorded, and we owe nothing. */
  readonly settlesDirectly?: true
  /** Test instruments to choose from; only the sandbox has them. */
  readonly instruments?: readonly Instrument[]
  startCheckout(
    attempt: Attempt,
    choice: CheckoutChoice,
    returnUrl: string,
  ): Promise<StartedCheckout | Outcome>
  verify(query: StatusQuery, gatewayReference: string | null): Promise<Outcome>
  parseWebhook(request: WebhookRequest): ParsedWebhook
  /** The JSON body of our 200 response to a webhook, if the provider wants one. */
  readonly webhookAnswer?: Readonly<Record<string, unknown>>
  /** Our key of a payment that a webhook names by the gateway's id; null if the payment is not ours. */
  findKey?(gatewayPaymentId: string): Promise<KeyLookup>
  chargeSaved?(attempt: Attempt, credential: string): Promise<Outcome>
  /**
   * The call that moves the money of an attempt that was pending with `canComplete`. It is made at most once, unless its
   * outcome proves that nothing was executed: `not_sent`, `unsent`, refused, or again pending with `canComplete`. The
   * completion of a charge gets the credential of its saved method.
   */
  complete?(query: StatusQuery, gatewayReference: string, credential?: string): Promise<Outcome>
  /** Cancels an attempt that the payer has not paid: `declined` if it is cancelled, `succeeded` if it was paid before. */
  cancel?(query: StatusQuery, gatewayReference: string | null): Promise<Outcome>
  refund?(refund: RefundRequest): Promise<RefundOutcome>
  verifyRefund?(refund: RefundRequest, gatewayReference: string | null): Promise<RefundOutcome>
  /** The refunds that the provider has, also those that were made in its dashboard. */
  listRefunds?(query: RefundListQuery): Promise<RefundList>
  /** The disputes that were opened in a period, for providers whose webhooks about them are lost or not sent. */
  listDisputes?(period: { from: Date; to: Date }): Promise<DisputeList>
  /** A call without effect that checks credentials before they are stored, and whether a provider that was down is up again. */
  probe?(): Promise<'works' | 'refused' | 'unreachable'>
  /** Calls without effect that check the settings of the account at the provider. Credentials work already. */
  checkAccount?(): Promise<GatewayCheck[]>
}

/** by_hand: the provider cannot be asked, so a person must look. */
export const CHECK_RESULTS = ['ok', 'failed', 'by_hand'] as const

/** A setting at the provider on which payments depend. */
export interface GatewayCheck {
  name: string
  result: (typeof CHECK_RESULTS)[number]
  /** What to do, in a sentence; empty if it is ok. */
  detail: string
}

/** A full or partial refund of a succeeded attempt. It is committed before any operation is called with it. */
export interface RefundRequest {
  /** Our idempotency key of this refund, the same for every retry. */
  key: string
  attemptKey: string
  /** The gateway's reference of the paid attempt. */
  attemptReference: string
  amount: Money
  /** False for a partial refund. */
  isFull: boolean
  /**
   * The sum of our refunds of the attempt that were submitted before this one and have not failed, for a provider that reports
   * only how much it has returned. Absent if there was none.
   */
  refundedBefore?: Money
  /** The receipt number of the paid attempt, if the provider has reported it. */
  receiptNumber?: string
  /** The number that was prompted for the paid attempt, E.164. */
  payerPhone?: string
  /** The provider's references of the other refunds of the payment, only with `nonIdempotentRefunds`. */
  otherReferences?: readonly string[]
  /** The report of a callback about this refund, if one has arrived. */
  report?: string
}

/** Which refunds to list: those of one paid attempt, or all that were made in a period. */
export type RefundListQuery =
  | ({
      kind: 'payment'
      receiptNumber: string | null
      currency: Currency
      /** The sum of our refunds that have not failed: some providers report only a sum, or that money was returned. */
      refunded: Money
    } & Pick<RefundRequest, 'attemptKey' | 'attemptReference'>)
  | { kind: 'period'; from: Date; to: Date }

/** A refund at the provider: ours, or one that was made there. */
export interface ProviderRefund {
  reference: string
  /** Our key, if we made it. */
  key: string | null
  /** The provider's names of the refunded payment, or our key of it. */
  paymentNames: readonly string[]
  /** Null if the list does not tell it. */
  amount: Money | null
  status: 'pending' | 'succeeded' | 'failed' | 'unrecognized'
}

export type RefundList =
  | { kind: 'refunds'; refunds: readonly ProviderRefund[] }
  | Extract<Outcome, { kind: 'unknown' }>

/** A dispute in a list of the provider. The list only says which payments to ask about. */
export interface ListedDispute {
  reference: string
  status: DisputeReport['status'] | 'unrecognized'
  /** The provider's names of the disputed payment, or our key of it. */
  paymentNames: readonly string[]
}

export type DisputeList =
  | { kind: 'disputes'; disputes: readonly ListedDispute[] }
  | Extract<Outcome, { kind: 'unknown' }>

/** As with outcomes: after `unknown` only a status check, or the same request under the same key, is allowed. */
export type RefundOutcome =
  | { kind: 'succeeded'; gatewayReference: string }
  | { kind: 'failed'; message: string; gatewayReference: string | null }
  | { kind: 'pending'; gatewayReference: string | null }
  | {
      kind: 'unknown'
      reason: UnknownReason
      message: string
      /** The provider has answered, and this refund was not sent, because an earlier one of the payment has not ended there. */
      queued?: true
    }

export interface Instrument {
  name: string
  channel: ProviderChannel
  label: string
}
