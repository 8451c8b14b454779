// People ask for refunds, and other people approve or reject them. The approval and the refund are one transaction, so each
// request makes at most one refund, also if two people approve it at the same moment. A refund that is not possible any more
// leaves the request open.

import { assertNoCardNumbers } from '../core/card-number.ts'
import { ApiError, requireFound } from '../core/errors.ts'
import type { Merchant, Principal } from '../core/merchant.ts'
import { formatAmount, type Money, money, subtract } from '../core/money.ts'
import { createIdempotently, type IdempotentResult } from '../kit/db/idempotency.ts'
import { type ListQuery, type Page, paginate } from '../kit/db/pagination.ts'
import type { PaymentsApp } from '../payments/app.ts'
import type { PaymentRow } from '../payments/payment.ts'
import { hadJoined } from '../people/team.ts'
import { type RefundCheck, requestRefund, validateRefund } from '../refunds/request.ts'
import { decideRequest, findRequest, insertRequest, listRequestRows, type RequestFilter } from './queries.ts'
import type { RequestRow, RequestStatus } from './request.ts'

const OPERATION = 'POST /app/refund-requests'

export interface RequestInput {
  paymentUuid: string
  amount: number
  /** For the person who approves. */
  reason: string
}

export async function askForRefund(
  app: PaymentsApp,
  merchant: Merchant,
  { id: requestedBy }: Principal,
  input: RequestInput,
  idempotencyKey: string | undefined,
): Promise<IdempotentResult<RequestRow>> {
  assertNoCardNumbers({ reason: input.reason })
  const { payment, amount } = await requirePossible(app, merchant, input)
  const claim = { merchantId: merchant.id, key: idempotencyKey, operation: OPERATION, input }
  return createIdempotently(app, claim, {
    make: async (tx, id) => {
      const request: RequestRow = {
        ...{ id, merchantId: merchant.id, paymentId: payment.id, paymentReference: payment.reference },
        ...{ amountMinor: amount.minor, currency: amount.currency, reason: input.reason },
        ...{ status: 'awaiting_approval', requestedBy, createdAt: app.clock.now() },
        ...{ decidedBy: null, decidedAt: null, decisionNote: null, refundId: null },
      }
      if (await insertRequest(tx, request)) return request
      throw new ApiError('invalid_state', {
        message: 'Another refund of this payment waits for approval already.',
      })
    },
    find: (id) => findRequest(app.db, merchant.id, id),
  })
}

/** Rejects what an approval could not refund now. */
async function requirePossible(
  app: PaymentsApp,
  merchant: Merchant,
  input: RequestInput,
): Promise<{ payment: PaymentRow; amount: Money }> {
  const { payment, amount, isFullOnly } = await validateRefund(app, merchant, toRefund(input), 'once')
  const paid = money(payment.amountPaidMinor ?? 0n, payment.currency)
  const rest = subtract(paid, money(payment.refundedMinor, payment.currency))
  if (!amount || amount.minor > rest.minor)
    throw new ApiError('refund_exceeds_amount', {
      message: `${formatAmount(rest)} ${rest.currency} of this payment can still be refunded.`,
    })
  if (isFullOnly && amount.minor !== paid.minor) throw new ApiError('partial_refund_not_supported')
  return { payment, amount }
}

const toRefund = ({
  paymentUuid,
  amount,
  reason,
}: Omit<RequestInput, 'reason'> & Pick<RequestRow, 'reason'>) => ({
  ...{ refundReference: null, payment: { uuid: paymentUuid }, amount, reason, metadata: {} },
})

export async function requireRequest(app: PaymentsApp, merchant: Merchant, id: string): Promise<RequestRow> {
  return requireFound(await findRequest(app.db, merchant.id, id), 'refund_not_found')
}

export function listRequests(
  app: PaymentsApp,
  merchant: Merchant,
  query: ListQuery & RequestFilter,
): Promise<Page<RequestRow>> {
  const { status, payment, requestedBy } = query
  const scope = `refund-requests:${merchant.id}:${status ?? ''}:${payment ?? ''}:${requestedBy ?? ''}`
  return paginate(app.cursors, scope, query, (window) =>
    listRequestRows(app.db, merchant.id, { status, payment, requestedBy }, window),
  )
}

export async function approveRequest(
  app: PaymentsApp,
  merchant: Merchant,
  approver: Principal,
  id: string,
): Promise<RequestRow> {
  const request = await requireRequest(app, merchant, id)
  requireOther(request, approver)
  // The same person again: the form was submitted twice.
  if (request.status === 'approved' && request.decidedBy === approver.id) return request
  if (request.status !== 'awaiting_approval') throw alreadyDecided(request)
  await requireEarlierMember(app, request, approver)
  const approve: RefundCheck = async (tx, refund) => {
    const decision = { ...decisionOf(app, 'approved', approver, null), refundId: refund.id }
    if (!(await decideRequest(tx, request, decision))) throw alreadyDecided(request)
  }
  const { paymentId: paymentUuid, amountMinor, currency, reason } = request
  const amount = Number(formatAmount(money(amountMinor, currency)))
  const input = toRefund({ paymentUuid, amount, reason })
  await requestRefund(app, merchant, input, `refund-request:${id}`, approve)
  return requireDecidedBy(await requireRequest(app, merchant, id), approver)
}

/** A rejection says why, to the person who has asked. */
export async function rejectRequest(
  app: PaymentsApp,
  merchant: Merchant,
  rejecter: Principal,
  id: string,
  note: string,
): Promise<RequestRow> {
  assertNoCardNumbers({ note })
  const request = await requireRequest(app, merchant, id)
  requireOther(request, rejecter)
  return end(app, request, decisionOf(app, 'rejected', rejecter, note))
}

/** Only the person who has asked. */
export async function withdrawRequest(
  app: PaymentsApp,
  merchant: Merchant,
  person: Principal,
  id: string,
): Promise<RequestRow> {
  const request = await requireRequest(app, merchant, id)
  if (request.requestedBy !== person.id)
    throw new ApiError('invalid_state', { message: 'Only the person who asked for the refund withdraws it.' })
  return end(app, request, decisionOf(app, 'withdrawn', person, null))
}

async function end(
  app: PaymentsApp,
  request: RequestRow,
  decision: ReturnType<typeof decisionOf>,
): Promise<RequestRow> {
  const decided = await decideRequest(app.db, request, decision)
  if (decided) return decided
  const current = await findRequest(app.db, request.merchantId, request.id)
  if (current?.status === decision.status && current.decidedBy === decision.decidedBy) return current
  throw alreadyDecided(current ?? request)
}

const decisionOf = (
  { clock }: PaymentsApp,
  status: RequestStatus,
  { id: decidedBy }: Principal,
  decisionNote: string | null,
) => ({ ...{ status, decidedBy, decisionNote }, decidedAt: clock.now(), refundId: null })

function requireOther({ requestedBy }: RequestRow, { id }: Principal): void {
  if (requestedBy !== id) return
  throw new ApiError('approver_not_independent', {
    message: 'You have asked for this refund yourself; another person must decide.',
  })
}

/** A person who may invite people could otherwise approve with a second account. */
async function requireEarlierMember(
  { instanceDb }: PaymentsApp,
  { merchantId, createdAt }: RequestRow,
  { id }: Principal,
): Promise<void> {
  if (await hadJoined(instanceDb, merchantId, [id], createdAt)) return
  throw new ApiError('approver_not_independent', {
    message:
      'You have joined after this refund was asked for. A person who had joined before must approve it.',
  })
}

/** Of two people who approve at the same moment, one has made the refund. */
function requireDecidedBy(request: RequestRow, { id }: Principal): RequestRow {
  if (request.decidedBy !== id) throw alreadyDecided(request)
  return request
}

function alreadyDecided({ status }: RequestRow): ApiError {
  const how = status === 'awaiting_approval' ? 'decided' : status
  return new ApiError('invalid_state', { message: `This request was ${how} already.` })
}
