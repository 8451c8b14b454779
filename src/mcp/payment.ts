// A payment as the merchants' API returns it, how a tool finds the one that is meant, and its short form for agents.

import { Type } from 'typebox'
import { FAILURES } from '../core/failures.ts'
import { isUuid } from '../core/ids.ts'
import { type Envelope, findRecord, requireSuccess, ToolError, urlOf } from './api.ts'
import type { ToolContext } from './tool.ts'
import { separateNames, untrusted } from './untrusted.ts'

export interface AttemptRecord {
  paymentGateway: string
  channel: string
  status: string
  failureCode: string | null
  startedAt: string
  endedAt: string | null
}

/** The fields that tools use; src/payments/schema.ts describes the record. */
export interface PaymentRecord {
  kind?: 'checkout' | 'charge'
  uuid: string
  reference: string
  status: string
  statusReason: string | null
  sourceAmount: string
  sourceCurrency: string
  amountPaid: string | null
  amountReceived: string | null
  refundedAmount: string
  paymentGateway: string
  channel: string | null
  failure: { code: string; message: string; retryable: boolean } | null
  createdAt: string
  paidAt: string | null
  expiresAt: string | null
  receiptCode: string | null
  gatewayReference: string | null
  description: string | null
  metadata: Record<string, unknown>
  customer: { uuid: string; firstname: string; lastname: string; email: string }
  attempts: AttemptRecord[]
}

/** The scopes of the list and the timeline, in which payments and charges are together. */
export const PAYMENT_SCOPES = ['checkout:read', 'charges:read'] as const

export const PAYMENTS_PATH = '/api/v1/payments'

export const PaymentName = Type.String({
  minLength: 1,
  maxLength: 100,
  description:
    'The payment or charge: its uuid, your reference, the receipt code of the payer, or its whole reference at the provider.',
})

/** Enough to find the payment with a reference among those whose reference contains it, as a rule. */
const SEARCH_LIMIT = 50
const MAX_CANDIDATES = 5

/** The payment with exactly this name. A part of a reference or of an e-mail names none: it may be of another payment. */
export async function requirePayment(context: ToolContext, name: string): Promise<PaymentRecord> {
  const identified = await findByUuid(context, name)
  if (identified) return identified
  const { data: similar, meta } = await readPayments(context, { search: name, limit: SEARCH_LIMIT })
  const named = similar.find(({ reference }) => reference === name)
  if (named) return named
  const behind = meta.nextCursor === null ? undefined : await findByReference(context, name)
  if (behind) return behind
  const exact = await findByOtherNames(context, name, similar)
  const [found] = exact
  if (found && exact.length === 1) return found
  throw notNamed(context, exact, similar)
}

/** By the receipt code, or by a whole reference at the provider, which two gateways may have given to two payments. */
async function findByOtherNames(context: ToolContext, name: string, similar: readonly PaymentRecord[]) {
  const code = plainCode(name)
  const withCode = similar.filter(
    ({ receiptCode }) => receiptCode !== null && plainCode(receiptCode) === code,
  )
  if (withCode.length > 0) return withCode
  return (await readPayments(context, { gatewayReference: name, limit: MAX_CANDIDATES })).data
}

const plainCode = (text: string) => text.toUpperCase().replaceAll(/[\s-]/g, '')

function notNamed(
  context: ToolContext,
  exact: readonly PaymentRecord[],
  similar: readonly PaymentRecord[],
): ToolError {
  const candidates = (exact.length > 0 ? exact : similar)
    .slice(0, MAX_CANDIDATES)
    .map((row) => summarizePayment(context, row))
  if (exact.length > 0)
    return new ToolError('ambiguous_payment', 'Several payments have this name: use the uuid of one.', {
      candidates,
    })
  const message =
    candidates.length === 0
      ? 'There is no such payment. find_payments searches by other facts.'
      : 'No payment has exactly this name. The candidates contain it in their reference or e-mail: ask which one is meant, and use its uuid.'
  return new ToolError('payment_not_found', message, candidates.length === 0 ? {} : { candidates })
}

/** Undefined if it is no uuid of a payment: references, also those of providers, may have the form of a uuid. */
export async function findByUuid(context: ToolContext, uuid: string): Promise<PaymentRecord | undefined> {
  if (!isUuid(uuid)) return undefined
  const checkout = await findRecord<PaymentRecord>(context.call, `/api/v1/checkout/payments/${uuid}`)
  if (checkout) return { ...checkout, kind: 'checkout' }
  const charge = await findRecord<PaymentRecord>(context.call, `/api/v1/charges/${uuid}`)
  // A charge by itself has no attempts; in the list it has the form of a payment.
  return charge && findListed(context, charge)
}

type ListFilters = Readonly<Record<string, string | number | undefined>>

/** The payment as it stands in the list, if it fits the filters. */
export async function findListed(
  context: ToolContext,
  { uuid, reference, createdAt }: Pick<PaymentRecord, 'uuid' | 'reference' | 'createdAt'>,
  filters: ListFilters = {},
): Promise<PaymentRecord | undefined> {
  // Those of the same millisecond and with this text in their reference are few.
  const query = { ...filters, search: reference, createdFrom: createdAt, createdTo: createdAt }
  const { data } = await readPayments(context, { ...query, limit: SEARCH_LIMIT })
  return data.find((row) => row.uuid === uuid)
}

/** By verify-payment, the only request that takes an exact reference; it may ask the gateway about an open payment. */
async function findByReference(context: ToolContext, reference: string): Promise<PaymentRecord | undefined> {
  const path = urlOf({ path: '/api/v1/checkout/verify-payment', query: { reference } })
  const found = await findRecord<PaymentRecord>(context.call, path)
  return found && findListed(context, found)
}

export function readPayments({ call }: ToolContext, query: ListFilters): Promise<Envelope<PaymentRecord[]>> {
  return requireSuccess(call, { method: 'GET', path: PAYMENTS_PATH, query })
}

/** A late payment may have followed a failure, which then says nothing any more. */
const isUnpaid = ({ paidAt }: PaymentRecord) => paidAt === null

/** Why it is unpaid: the failure of the payment, or else of its last attempt, which leaves a checkout open. */
export function failureOf({ failure, attempts }: PaymentRecord): PaymentRecord['failure'] {
  const code = attempts.at(-1)?.failureCode
  const facts = Object.entries(FAILURES).find(([name]) => name === code)?.[1]
  return failure ?? (code && facts ? { code, message: facts.message, retryable: facts.retryable } : null)
}

export const amountOf = (payment: PaymentRecord, amount: string = payment.sourceAmount) =>
  `${payment.sourceCurrency} ${amount}`

const UNTRUSTED_REFERENCE = ', whose reference is in the field untrusted'

/** Names it in the summary of a write: by its uuid, and by its reference unless that may be a sentence. */
export function nameOf({
  kind,
  uuid,
  reference,
}: Pick<PaymentRecord, 'kind' | 'uuid' | 'reference'>): string {
  const { own } = separateNames({ reference })
  const named = own.reference === undefined ? UNTRUSTED_REFERENCE : ` with the reference ${own.reference}`
  return `the ${kind === 'charge' ? 'charge' : 'payment'} ${uuid}${named}`
}

/** The facts that identify and describe it, with the text of others apart. */
export function summarizePayment({ publicUrl }: ToolContext, payment: PaymentRecord) {
  const { uuid, kind, reference, gatewayReference, customer, description, metadata } = payment
  const { own, others } = separateNames({ reference, gatewayReference })
  const area = kind === 'charge' ? 'charges' : 'checkout/payments'
  return {
    uuid,
    kind,
    ...own,
    status: payment.status,
    statusReason: payment.statusReason ?? undefined,
    amount: amountOf(payment),
    amountPaid: payment.amountPaid ?? undefined,
    refundedAmount: /[1-9]/.test(payment.refundedAmount) ? payment.refundedAmount : undefined,
    paymentGateway: payment.paymentGateway,
    channel: payment.channel ?? undefined,
    failure: isUnpaid(payment) ? (failureOf(payment) ?? undefined) : undefined,
    attempts: payment.attempts.length,
    createdAt: payment.createdAt,
    paidAt: payment.paidAt ?? undefined,
    expiresAt: payment.expiresAt ?? undefined,
    receiptCode: payment.receiptCode ?? undefined,
    customerUuid: customer.uuid,
    ...untrusted({
      ...others,
      customerName: `${customer.firstname} ${customer.lastname}`,
      customerEmail: customer.email,
      description,
      metadata,
    }),
    api: `${publicUrl}/api/v1/${area}/${uuid}`,
  }
}
