// Refunds that wait for a second person: the queue, and one request with what can be done.

import type { ApiError } from '../../../core/errors.ts'
import { type Html, html } from '../../../kit/http/html.ts'
import type { OperationId } from '../../../kit/http/route.ts'
import { REQUEST_STATUSES, type RefundRequest } from '../../../refund-requests/request.ts'
import {
  badge,
  type Column,
  facts,
  field,
  notice,
  problemNotice,
  table,
  written,
} from '../../frame/components.ts'
import { orShowProblem } from '../../frame/form-input.ts'
import { listScreens } from '../../frame/list-screen.ts'
import { loadNames } from '../../frame/names.ts'
import type { Screen, ScreenRequest, ScreenResponse } from '../../frame/screen.ts'
import { mailDecision } from '../../refund-mails.ts'
import { customerText } from '../payment/customer.ts'
import { findPayment } from '../payment/find.ts'
import { loadDestination, methodText, tellCustomer } from '../payment/tell.ts'
import { loadRefunds } from '../payment-money.ts'
import { PAYMENTS_PATH, type Payment } from '../payments.ts'
import { REQUESTS_PATH, type Refund, refundColumns, requestsTitle } from '../refunds.ts'

export const refundRequestScreens: Screen[] = [
  ...listScreens<RefundRequest>({
    path: '/refunds/requests',
    title: requestsTitle,
    list: 'refundRequests.list',
    filters: [
      {
        name: 'status',
        label: 'status',
        values: REQUEST_STATUSES,
        prefix: 'status',
        initial: 'awaiting_approval',
      },
      { name: 'whose', label: 'requestsWhose', values: ['own'], prefix: 'requestsWhose', initial: 'all' },
      { name: 'createdFrom', label: 'from', type: 'date' },
      { name: 'createdTo', label: 'to', type: 'date' },
    ],
    columns: (_, request) => requestColumns(request),
    emptyTitle: 'noRequestsTitle',
    emptyText: 'noRequestsText',
  }),
  {
    method: 'GET',
    path: '/refunds/requests/{uuid}',
    needs: ['refundRequests.get'],
    handle: async (request) => show(request, await load(request)),
  },
  {
    method: 'POST',
    path: '/refunds/requests/{uuid}/approve',
    needs: ['refundRequests.approve'],
    // It moves money, and stands for a second person.
    stepUp: true,
    handle: (request) => decide(request, 'refundRequests.approve', 'approved'),
  },
  {
    method: 'POST',
    path: '/refunds/requests/{uuid}/reject',
    needs: ['refundRequests.reject'],
    handle: (request) =>
      decide(request, 'refundRequests.reject', 'rejected', { note: request.form.note ?? '' }),
  },
  {
    method: 'POST',
    path: '/refunds/requests/{uuid}/withdraw',
    needs: ['refundRequests.withdraw'],
    handle: (request) => decide(request, 'refundRequests.withdraw', 'withdrawn'),
  },
]

/** Who asked, when and why, and what came of it. */
export async function requestColumns(request: ScreenRequest): Promise<Column<RefundRequest>[]> {
  const { texts } = request
  const { t } = texts
  const nameOf = await loadNames(request)
  return [
    {
      label: t('payment'),
      isTitle: true,
      cell: ({ uuid, paymentReference }) =>
        html`<a class="row" href="${REQUESTS_PATH}/${uuid}">${written(paymentReference)}</a>`,
    },
    {
      label: t('amount'),
      isNumber: true,
      isBeside: true,
      cell: ({ amount, currency }) => texts.amount(amount, currency),
    },
    { label: t('requestedBy'), cell: ({ requestedBy }) => nameOf(requestedBy) },
    { label: t('created'), cell: ({ createdAt }) => texts.time(createdAt) },
    { label: t('reason'), cell: ({ reason }) => written(reason) },
    {
      label: t('status'),
      cell: ({ status, decidedBy, decisionNote }) =>
        html`${badge(texts, status)}${decidedBy && html`<span class="sub">${nameOf(decidedBy)}</span>`}${decisionNote && html`<span class="sub">${written(decisionNote)}</span>`}`,
    },
  ]
}

async function load({ call, params }: ScreenRequest): Promise<RefundRequest> {
  // A boundary: the operation returns a record of this type.
  return (await call('refundRequests.get', { params })).data as RefundRequest
}

async function decide(
  request: ScreenRequest,
  operation: OperationId,
  done: 'approved' | 'rejected' | 'withdrawn',
  body?: { note: string },
): Promise<ScreenResponse> {
  const { call, params } = request
  const one = await load(request)
  return orShowProblem(
    async () => {
      // A boundary: the operations return a record of this type. A form that was sent twice has been mailed before.
      const decided = (await call(operation, { params, body })).data as RefundRequest
      if (one.status === 'awaiting_approval') mailDecision(request, decided)
      return { redirectTo: `${REQUESTS_PATH}/${one.uuid}?done=${done}` }
    },
    // Another person may have decided since.
    async (problem) => show(request, await load(request), problem),
  )
}

async function show(request: ScreenRequest, one: RefundRequest, problem?: ApiError): Promise<ScreenResponse> {
  const { texts, query } = request
  const { t } = texts
  const title = t('requestTitle', { amount: texts.amount(one.amount, one.currency) })
  const isDone = query.done !== undefined && query.done === one.status
  const [payment, refunds, destination] = await Promise.all([
    findPayment(request, one.paymentUuid),
    loadRefunds(request, one.paymentUuid),
    loadDestination(request, one.paymentUuid),
  ])
  const explained =
    one.status === 'awaiting_approval' ? { ...one, status: one.status } : refundOf(one, refunds)
  const earlier = refunds.filter(({ uuid }) => uuid !== one.refundUuid)
  const body = html`<div class="head"><h1>${title}</h1>${badge(texts, one.status)}</div>
${isDone && notice('good', html`<p>${texts.word('done', `request_${one.status}`)}</p>`)}${problemNotice(problem, { note: t('requestRejectReason') })}
<div class="split"><div><section class="card">${await factsOf(request, one, payment, methodText(texts, destination))}</section>
${earlier.length > 0 && html`<h2>${t('earlierRefunds')}</h2>${table(t('earlierRefunds'), refundColumns(texts), earlier)}`}</div>
<div>${explained && tellCustomer(texts, explained, destination)}${one.status === 'awaiting_approval' && actions(request, one)}</div></div>`
  return { title, body, http: problem ? 422 : 200 }
}

const refundOf = ({ refundUuid }: RefundRequest, refunds: readonly Refund[]) =>
  refunds.find(({ uuid }) => uuid === refundUuid)

/** What the person who decides needs to know. */
async function factsOf(
  request: ScreenRequest,
  one: RefundRequest,
  payment: Payment,
  method: string,
): Promise<Html> {
  const { texts } = request
  const { t } = texts
  const nameOf = await loadNames(request)
  const refunded = Number(payment.refundedAmount) > 0
  return facts([
    [t('payment'), html`<a href="${PAYMENTS_PATH}/${one.paymentUuid}">${written(one.paymentReference)}</a>`],
    [t('amount'), texts.amount(one.amount, one.currency)],
    [t('reason'), written(one.reason)],
    [t('customer'), customerText(request, payment)],
    [t('amountPaid'), texts.amount(payment.amountPaid, one.currency)],
    [t('paid'), texts.time(payment.paidAt)],
    [t('method'), method],
    [t('refunded'), refunded && texts.amount(payment.refundedAmount, one.currency)],
    [t('requestedBy'), nameOf(one.requestedBy)],
    [t('created'), texts.time(one.createdAt)],
    [t('decidedBy'), nameOf(one.decidedBy)],
    [t('decided'), texts.time(one.decidedAt)],
    [t('note'), written(one.decisionNote)],
  ])
}

/** People decide about the requests of others, and withdraw their own. */
function actions({ allows, postForm, person, form, texts }: ScreenRequest, one: RefundRequest): Html | null {
  const { t } = texts
  const path = `${REQUESTS_PATH}/${one.uuid}`
  if (one.requestedBy === person.userId)
    return html`<section class="card"><p>${t('requestOwn')}</p>${allows('refundRequests.withdraw') && postForm(`${path}/withdraw`, html`<button class="plain">${t('requestWithdraw')}</button>`)}</section>`
  if (!allows('refundRequests.approve')) return null
  const amount = texts.amount(one.amount, one.currency)
  return html`<section class="card"><h2>${t('requestApprove')}</h2><p>${t('requestApproveText', { amount })}</p>${postForm(`${path}/approve`, html`<button class="danger">${t('requestApprove')}</button>`)}</section>
<section class="card"><h2>${t('reject')}</h2>${postForm(
    `${path}/reject`,
    html`${field('note', t('requestRejectReason'), { value: form.note ?? '', isRequired: true })}<button class="plain">${t('reject')}</button>`,
  )}</section>`
}
