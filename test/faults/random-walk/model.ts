// The model of the walk: shops with their customers, payments, refunds, links and methods, and the effects of
// operations. Plain values and functions; the rules come from the contract, independently of the product.

import { emptyBalance, type ModelBalance } from './balances.ts'

export const DECIMALS = { KES: 2, NGN: 2, XOF: 0, SSP: 2 } as const
export type ModelCurrency = keyof typeof DECIMALS

/** The sandbox fees in this walk: a percentage, rounded half up, and a fixed part. */
export const FEE = { percent: '1.5', fixed: '1' }

export function feeOf(minor: bigint, currency: ModelCurrency): bigint {
  const fee = (minor * 15n + 500n) / 1_000n + 10n ** BigInt(DECIMALS[currency])
  return fee > minor ? minor : fee
}

/** Minor units of a text such as "5000.00", in which every currency has two decimals. */
export function readMinor(text: string | null, currency: ModelCurrency): bigint {
  if (text === null) return 0n
  const hundredths = BigInt(text.replace('.', ''))
  return DECIMALS[currency] === 0 ? hundredths / 100n : hundredths
}

/** The amount as a number in a request. */
export function toMajor(minor: bigint, currency: ModelCurrency): number {
  return Number(minor) / 10 ** DECIMALS[currency]
}

export type Status =
  | 'pending'
  | 'processing'
  | 'successful'
  | 'failed'
  | 'abandoned'
  | 'expired'
  | 'partially_refunded'
  | 'refunded'
  | 'disputed'
  | 'reversed'

const MOVES: Readonly<Record<Status, readonly Status[]>> = {
  pending: ['processing', 'successful', 'failed', 'abandoned', 'expired'],
  processing: ['pending', 'successful', 'failed', 'abandoned', 'expired'],
  successful: ['partially_refunded', 'refunded', 'disputed', 'reversed'],
  failed: ['successful'],
  abandoned: ['successful'],
  expired: ['successful'],
  partially_refunded: ['refunded', 'disputed'],
  refunded: ['disputed'],
  disputed: ['successful', 'reversed'],
  reversed: [],
}

/** Whether a path of allowed transitions leads from one status to the other. */
export function isReachable(from: Status, to: Status): boolean {
  const seen = new Set<Status>([from])
  for (const status of seen) for (const next of MOVES[status]) seen.add(next)
  return seen.has(to)
}

const COLLECTED: readonly Status[] = ['successful', 'partially_refunded', 'refunded', 'disputed', 'reversed']

export const isCollected = ({ status }: Pick<Payment, 'status'>) => COLLECTED.includes(status)

export interface Customer {
  uuid: string
  email: string
  isBlocked: boolean
}

export interface Method {
  uuid: string
  token: string
  customer: Customer
  instrument: string
  /** The provider identifies a card by the e-mail that it was used with. */
  email: string
  isRevoked: boolean
}

export interface Refund {
  uuid: string
  payment: Payment
  minor: bigint
  status: 'pending' | 'successful' | 'failed'
}

export type TransferStatus =
  | 'awaiting_payment'
  | 'marked_paid'
  | 'underpaid'
  | 'confirmed'
  | 'overpaid'
  | 'rejected'
  | 'expired'
  | 'cancelled'

export interface Payment {
  uuid: string
  reference: string
  kind: 'checkout' | 'charge'
  currency: ModelCurrency
  minor: bigint
  status: Status
  /** The e-mail at the start of the payment. */
  email: string
  customer: Customer
  link: Link | null
  checkoutUrl: string | null
  expiresAt: number | null
  attempts: number
  /** The channel of an attempt that the payer has left open. */
  openChannel: string | null
  /** The payer has cancelled and can still pay. */
  isCancelled: boolean
  /** Another amount arrived than requested: nothing is credited, and it needs manual review. */
  isMismatched: boolean
  instrument: string | null
  refunds: Refund[]
  /** The provider's state of the dispute. */
  dispute: 'open' | 'won' | 'lost' | null
  /** The amount that an open dispute holds, or that a lost one took. */
  heldMinor: bigint
  lostMinor: bigint
  /** The state of a transfer to the merchant. */
  transfer: { status: TransferStatus; receivedMinor: bigint | null } | null
}

export interface Link {
  uuid: string
  url: string
  minor: bigint | null
  currency: ModelCurrency
  maxPayments: number | null
  isDeactivated: boolean
  expiresAt: number | null
}

/** A request that created a record, to be sent again. */
export interface Sent {
  path: string
  body: object
  key: string | undefined
  uuid: string
  at: number
}

export interface Shop {
  name: string
  uuid: string
  key: string
  payments: Payment[]
  refunds: Refund[]
  customers: Map<string, Customer>
  methods: Method[]
  links: Link[]
  /** The uuid of an endpoint, and whether it is enabled. */
  endpoints: Map<string, boolean>
  spareKeys: string[]
  sent: Sent[]
  balances: Map<ModelCurrency, ModelBalance>
  /** Records that concurrent requests changed, so that only a read shows their state. */
  uncertain: Set<Payment>
  uncertainCustomers: Set<Customer>
  /** An attempt ended unpaid, and its payment keeps the slot until no webhook or status check is due. */
  contested: Set<Link>
}

export function newShop(name: string, uuid: string, key: string): Shop {
  return {
    name,
    uuid,
    key,
    payments: [],
    refunds: [],
    customers: new Map(),
    methods: [],
    links: [],
    endpoints: new Map(),
    spareKeys: [],
    sent: [],
    balances: new Map(),
    uncertain: new Set(),
    uncertainCustomers: new Set(),
    contested: new Set(),
  }
}

export function modelBalanceOf(shop: Shop, currency: ModelCurrency): ModelBalance {
  const modelBalance = shop.balances.get(currency) ?? emptyBalance()
  shop.balances.set(currency, modelBalance)
  return modelBalance
}

export function refundedMinor({ refunds }: Payment): bigint {
  return sumOf(refunds.filter(({ status }) => status === 'successful'))
}

/** The amount that is neither refunded nor about to be. */
export function leftMinor(payment: Payment): bigint {
  return payment.minor - sumOf(payment.refunds.filter(({ status }) => status !== 'failed'))
}

const sumOf = (parts: readonly { minor: bigint }[]) => parts.reduce((sum, { minor }) => sum + minor, 0n)

/** The wallet's amount of a payment: money that went directly to the merchant is not in it. */
export function netOf(payment: Payment): bigint {
  if (!isCollected(payment) || payment.transfer) return 0n
  const net = payment.minor - feeOf(payment.minor, payment.currency)
  return net - refundedMinor(payment) - payment.heldMinor - payment.lostMinor
}

export function netOfAll(shop: Shop, currency: ModelCurrency): bigint {
  return shop.payments
    .filter((payment) => payment.currency === currency)
    .reduce((sum, payment) => sum + netOf(payment), 0n)
}

export const paymentsOf = (shop: Shop, link: Link) => shop.payments.filter((one) => one.link === link)

/** Payments at a link that are paid or at a gateway. */
export function slotsOf(shop: Shop, link: Link): { paid: number; reserved: number } {
  const payments = paymentsOf(shop, link)
  return {
    paid: payments.filter(isCollected).length,
    reserved: payments.filter(({ status }) => status === 'processing').length,
  }
}

/** Deactivated or expired: payments at a gateway may finish, and no new one starts. */
export function isOver({ isDeactivated, expiresAt }: Link, now: number): boolean {
  return isDeactivated || (expiresAt !== null && expiresAt <= now)
}

export function linkStatus(shop: Shop, link: Link, now: number): string {
  const { paid } = slotsOf(shop, link)
  if (link.maxPayments !== null && paid >= link.maxPayments) return 'completed'
  if (link.isDeactivated) return 'inactive'
  return link.expiresAt !== null && link.expiresAt <= now ? 'expired' : 'active'
}
