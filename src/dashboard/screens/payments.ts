// The list of payments and charges.

import type { Static } from 'typebox'
import { CURRENCY_CODES } from '../../core/currency.ts'
import { CHANNELS } from '../../gateways/gateway.ts'
import { type Html, html } from '../../kit/http/html.ts'
import { dayIn } from '../../kit/time-zone.ts'
import type { PaymentRecord } from '../../payments/schema.ts'
import { addressWith, badge, type Choice, type Column, written } from '../frame/components.ts'
import { listScreens } from '../frame/list-screen.ts'
import { liveMark } from '../frame/live.ts'
import type { AreaRequest, ScreenRequest } from '../frame/screen.ts'
import type { Texts } from '../frame/texts.ts'
import { viewsAbove } from './payment/views.ts'

export type Payment = Static<typeof PaymentRecord>

export const PAYMENTS_PATH = '/app/payments'
export const CASES_PATH = '/app/cases'
export const CUSTOMERS_PATH = '/app/customers'

const STATUSES: readonly Payment['status'][] = [
  ...(['pending', 'processing', 'successful', 'failed', 'abandoned', 'expired'] as const),
  ...(['partially_refunded', 'refunded', 'disputed', 'reversed'] as const),
]

export const paymentListScreens = listScreens<Payment>({
  path: '/payments',
  title: 'paymentsTitle',
  list: 'payments.listAll',
  exports: 'payments.exportAll',
  filters: [
    { name: 'search', label: 'searchLabel', type: 'search' },
    { name: 'status', label: 'status', values: STATUSES, prefix: 'status' },
    { name: 'currency', label: 'currency', values: CURRENCY_CODES },
    {
      name: 'channel',
      label: 'method',
      values: [...CHANNELS, 'saved'],
      prefix: 'channel',
    },
    { name: 'paymentGateway', label: 'gateway', choices: gatewayChoices },
    { name: 'createdFrom', label: 'createdFrom', type: 'date' },
    { name: 'createdTo', label: 'createdTo', type: 'date' },
    { name: 'paidFrom', label: 'paidFrom', type: 'date' },
    { name: 'paidTo', label: 'paidTo', type: 'date' },
  ],
  columns: (texts, { query }) =>
    paymentColumns(texts, { isByPaymentTime: Boolean(query.paidFrom || query.paidTo) }),
  emptyTitle: 'noPaymentsTitle',
  emptyText: 'noPaymentsText',
  views: viewsAbove,
  intro: async (request) => newPayments(request),
})

/** Also the gateway of the address, such as one that serves the merchant no longer. */
async function gatewayChoices({ call, allows, query }: AreaRequest): Promise<Choice[]> {
  // A boundary: the operation returns records of its schema.
  const gateways = (allows('gateways.list') ? (await call('gateways.list')).data : []) as {
    name: string
    title: string
  }[]
  const choices = gateways.map(({ name, title }) => ({ value: name, label: title }))
  const { paymentGateway: chosen } = query
  if (!chosen || choices.some(({ value }) => value === chosen)) return choices
  return [...choices, { value: chosen, label: chosen }]
}

/** The script shows how many there are. They are on the first page. */
function newPayments(request: ScreenRequest): Html | null {
  const { query, texts } = request
  if (query.cursor !== undefined || query.page !== undefined) return null
  return html`${liveMark(request, 'list')}<p class="notice neutral" role="status" data-new hidden><span data-count="${texts.t('newPayments')}"></span> <a href="${addressWith(PAYMENTS_PATH, query, {})}">${texts.t('showNew')}</a></p>`
}

/** Without the customer on the screen of one. */
export function paymentColumns(
  texts: Texts,
  { isOfCustomer = false, isByPaymentTime = false } = {},
): Column<Payment>[] {
  const { t } = texts
  const customer: Column<Payment> = {
    label: t('customer'),
    cell: ({ customer: { firstname, lastname, email } }) =>
      html`<span>${written(`${firstname} ${lastname}`)}<span class="sub">${written(email)}</span></span>`,
  }
  return [
    {
      label: t('payment'),
      isTitle: true,
      cell: ({ uuid, reference, description }) =>
        html`<a class="row" href="${PAYMENTS_PATH}/${uuid}">${written(reference)}</a>${description && html`<span class="sub">${written(description)}</span>`}`,
    },
    {
      label: t('amount'),
      isNumber: true,
      isBeside: true,
      cell: ({ sourceAmount, sourceCurrency }) => texts.amount(sourceAmount, sourceCurrency),
    },
    { label: t('status'), isBeside: true, cell: ({ status }) => badge(texts, status) },
    ...(isOfCustomer ? [] : [customer]),
    {
      label: t('method'),
      cell: ({ channel, paymentGateway }) =>
        html`<span>${texts.word('channel', channel)}<span class="sub">${paymentGateway}</span></span>`,
    },
    {
      label: t('created'),
      cell: (payment) =>
        html`<span>${texts.time(payment.createdAt)}${paidSub(payment, texts, isByPaymentTime)}</span>`,
    },
  ]
}

/** When it was paid, if that was on another day, or if the list is by that time. */
function paidSub({ createdAt, paidAt }: Payment, { t, time, zone }: Texts, isAlways: boolean): Html | null {
  if (paidAt === null || (!isAlways && dayIn(createdAt, zone) === dayIn(paidAt, zone))) return null
  return html`<span class="sub">${t('paid')} ${time(paidAt)}</span>`
}
