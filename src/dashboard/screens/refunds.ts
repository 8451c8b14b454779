// The list of refunds.

import type { Static } from 'typebox'
import { html } from '../../kit/http/html.ts'
import type { RefundRecord } from '../../refunds/schema.ts'
import { badge, type Column, written } from '../frame/components.ts'
import { listScreens } from '../frame/list-screen.ts'
import type { ScreenRequest } from '../frame/screen.ts'
import type { Texts } from '../frame/texts.ts'
import type { TextId } from '../locales/en.ts'
import { PAYMENTS_PATH } from './payments.ts'

export type Refund = Static<typeof RefundRecord>

export const REQUESTS_PATH = '/app/refunds/requests'

export const refundScreens = listScreens<Refund>({
  path: '/refunds',
  title: 'refundsTitle',
  list: 'refunds.list',
  exports: 'refunds.export',
  filters: [
    { name: 'search', label: 'reference', type: 'search' },
    { name: 'status', label: 'status', values: ['pending', 'successful', 'failed'], prefix: 'refundStatus' },
    { name: 'createdFrom', label: 'from', type: 'date' },
    { name: 'createdTo', label: 'to', type: 'date' },
  ],
  columns: (texts) => [
    {
      label: texts.t('payment'),
      isTitle: true,
      cell: ({ paymentUuid, paymentReference, refundReference }) =>
        html`<a class="row" href="${PAYMENTS_PATH}/${paymentUuid}">${written(paymentReference)}</a>${refundReference && html`<span class="sub">${written(refundReference)}</span>`}`,
    },
    ...refundColumns(texts),
  ],
  emptyTitle: 'noRefundsTitle',
  emptyText: 'noRefundsText',
  actions: (request) =>
    html`<a class="button plain" href="${REQUESTS_PATH}">${request.texts.t(requestsTitle(request))}</a> `,
})

/** Those who cannot approve look at what became of requests. */
export function requestsTitle({ allows }: Pick<ScreenRequest, 'allows'>): TextId {
  return allows('refundRequests.approve') ? 'requestsTitle' : 'requestsOfPayment'
}

/** What the refund is, without its payment. */
export function refundColumns(texts: Texts): Column<Refund>[] {
  const { t } = texts
  return [
    {
      label: t('amount'),
      isNumber: true,
      isBeside: true,
      cell: ({ amount, currency }) => texts.amount(amount, currency),
    },
    { label: t('status'), isBeside: true, cell: ({ status }) => badge(texts, status, 'refundStatus') },
    {
      label: t('reason'),
      cell: ({ reason, failure, isDuplicate }) =>
        html`<span>${isDuplicate ? t('refundOfDuplicate') : written(reason)}${failure && html`<span class="sub">${failure.message}</span>`}</span>`,
    },
    { label: t('source'), cell: ({ source }) => texts.word('source', source) },
    { label: t('created'), cell: ({ createdAt }) => texts.time(createdAt) },
  ]
}
