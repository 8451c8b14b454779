// Customers, and one customer with saved methods and payments.

import type { Static } from 'typebox'
import { ApiError } from '../../core/errors.ts'
import type { CustomerRecord, SavedMethodRecord } from '../../customers/schema.ts'
import { type Html, html } from '../../kit/http/html.ts'
import { badge, empty, facts, notice, table, written } from '../frame/components.ts'
import { listScreens } from '../frame/list-screen.ts'
import type { Screen, ScreenRequest } from '../frame/screen.ts'
import { CUSTOMERS_PATH as PATH, type Payment, paymentColumns } from './payments.ts'

type Customer = Static<typeof CustomerRecord>
type SavedMethod = Static<typeof SavedMethodRecord>

const nameOf = ({ firstname, lastname }: Customer) => `${firstname} ${lastname}`

export const customerScreens: Screen[] = [
  ...listScreens<Customer>({
    path: '/customers',
    title: 'customersTitle',
    list: 'customers.list',
    exports: 'customers.export',
    filters: [{ name: 'search', label: 'nameOrEmail', type: 'search' }],
    columns: (texts) => [
      {
        label: texts.t('customer'),
        isTitle: true,
        cell: (customer) =>
          html`<a class="row" href="${PATH}/${customer.uuid}">${written(nameOf(customer))}</a><span class="sub">${written(customer.email)}</span>`,
      },
      { label: texts.t('phone'), cell: ({ phone }) => phone && html`<bdi dir="ltr">${phone}</bdi>` },
      { label: texts.t('status'), isBeside: true, cell: ({ status }) => badge(texts, status) },
      { label: texts.t('created'), cell: ({ createdAt }) => texts.time(createdAt) },
    ],
    emptyTitle: 'noCustomersTitle',
    emptyText: 'noCustomersText',
  }),
  { method: 'GET', path: '/customers/{uuid}', needs: ['customers.get'], handle: (request) => show(request) },
  {
    method: 'POST',
    path: '/customers/{uuid}/block',
    needs: ['customers.block'],
    handle: (request) => act(request, 'customers.block', {}),
  },
  {
    method: 'POST',
    path: '/customers/{uuid}/unblock',
    needs: ['customers.unblock'],
    handle: (request) => act(request, 'customers.unblock', {}),
  },
  {
    method: 'POST',
    path: '/customers/{uuid}/methods/{methodUuid}/revoke',
    needs: ['paymentMethods.revoke'],
    handle: (request) =>
      act(request, 'paymentMethods.revoke', { methodUuid: request.params.methodUuid ?? '' }),
  },
]

async function show(request: ScreenRequest, problem?: ApiError) {
  const {
    call,
    allows,
    texts,
    query,
    params: { uuid = '' },
  } = request
  const { t } = texts
  const params = { uuid }
  const [found, methods, payments] = await Promise.all([
    call('customers.get', { params }),
    allows('paymentMethods.list') ? call('paymentMethods.list', { params }) : { data: [] },
    call('customers.listPayments', { params }),
  ])
  // A boundary: the operations return records of these schemas.
  const customer = found.data as Customer
  const body = html`<div class="head"><h1>${written(nameOf(customer))}</h1>${badge(texts, customer.status)}</div>
${query.done && notice('good', html`<p>${t('done_saved')}</p>`)}${problem && notice('bad', html`<p>${problem.message}</p>`)}
<div class="split"><div><section class="card">${facts([
    [t('email'), written(customer.email)],
    [t('phone'), customer.phone && html`<bdi dir="ltr">${customer.phone}</bdi>`],
    [t('country'), customer.country],
    [t('created'), texts.time(customer.createdAt)],
    ['UUID', html`<code>${customer.uuid}</code>`],
  ])}</section>${paymentsOf(payments.data as Payment[], request)}</div>
<div>${methodsOf(methods.data as SavedMethod[], request)}${blockForm(customer, request)}</div></div>`
  return { title: nameOf(customer), body, http: problem ? 422 : 200 }
}

function paymentsOf(payments: Payment[], { texts }: ScreenRequest): Html {
  const { t } = texts
  return html`<h2>${t('paymentsTitle')}</h2>${payments.length === 0 ? empty(t('noPaymentsTitle'), '') : table(t('paymentsTitle'), paymentColumns(texts, { isOfCustomer: true }), payments)}`
}

function methodsOf(methods: SavedMethod[], { texts, allows, postForm, params }: ScreenRequest): Html {
  const { t } = texts
  const revoke = ({ uuid, status }: SavedMethod) =>
    allows('paymentMethods.revoke') &&
    status === 'active' &&
    postForm(
      `${PATH}/${params.uuid}/methods/${uuid}/revoke`,
      html`<button class="plain small">${t('revoke')}</button>`,
    )
  return html`<section class="card"><h2>${t('methodsTitle')}</h2>${methods.length === 0 && html`<p class="dim">${t('noMethods')}</p>`}
<ul class="todo">${methods.map((method) => html`<li>${written(method.label)} ${badge(texts, method.status)}${revoke(method)}</li>`)}</ul></section>`
}

function blockForm({ uuid, status }: Customer, { allows, postForm, texts }: ScreenRequest): Html | false {
  const { t } = texts
  const isBlocked = status === 'blocked'
  if (!allows(isBlocked ? 'customers.unblock' : 'customers.block')) return false
  const action = isBlocked ? 'unblock' : 'block'
  const button = html`<p>${t(isBlocked ? 'unblockText' : 'blockText')}</p><button class="${isBlocked ? 'plain' : 'danger'}">${t(action)}</button>`
  return html`<section class="card">${postForm(`${PATH}/${uuid}/${action}`, button)}</section>`
}

async function act(
  request: ScreenRequest,
  operation: 'customers.block' | 'customers.unblock' | 'paymentMethods.revoke',
  more: Record<string, string>,
) {
  const {
    call,
    params: { uuid = '' },
    submission,
  } = request
  try {
    await call(operation, { params: { uuid, ...more }, idempotencyKey: submission })
    return { redirectTo: `${PATH}/${uuid}?done=saved` }
  } catch (error) {
    if (error instanceof ApiError) return show(request, error)
    throw error
  }
}
