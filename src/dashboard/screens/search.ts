// One search box: payments by reference, e-mail, receipt, reference at the provider or amount, and customers.

import type { Static } from 'typebox'
import type { CustomerRecord } from '../../customers/schema.ts'
import { html } from '../../kit/http/html.ts'
import type { OperationCall, OperationId } from '../../kit/http/route.ts'
import { empty, table, written } from '../frame/components.ts'
import type { Screen, ScreenRequest } from '../frame/screen.ts'
import { findRequest } from './developers/requests.ts'
import { PAYMENTS_PATH, type Payment, paymentColumns } from './payments.ts'

type Customer = Static<typeof CustomerRecord>

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/
const AMOUNT = /^\d{1,12}(?:\.\d{1,2})?$/
const MOST = '20'

export const searchScreen: Screen = {
  method: 'GET',
  path: '/search',
  needs: ['payments.listAll'],
  handle: async (request) => {
    const { texts, query } = request
    const { t } = texts
    const q = (query.q ?? '').trim().slice(0, 100)
    if (UUID.test(q)) return { redirectTo: (await findRequest(request, q)) ?? `${PAYMENTS_PATH}/${q}` }
    const [payments, customers] = q === '' ? [[], []] : await find(request, q)
    const title = t('searchTitle', { text: q })
    const isNothing = payments.length === 0 && customers.length === 0
    const body = html`<div class="head"><h1>${title}</h1></div>${isNothing && empty(t('searchNone'), t('searchNoneText'))}
${payments.length > 0 && html`<h2>${t('paymentsTitle')}</h2>${table(t('paymentsTitle'), paymentColumns(texts), payments)}`}
${customers.length > 0 && html`<h2>${t('customersTitle')}</h2><section class="card"><ul class="todo">${customers.map(({ uuid, firstname, lastname, email }) => html`<li><a href="/app/customers/${uuid}">${written(`${firstname} ${lastname}`)}</a> <span class="sub">${written(email)}</span></li>`)}</ul></section>`}`
    return { title, body }
  },
}

async function find(request: ScreenRequest, q: string): Promise<[Payment[], Customer[]]> {
  const amount = q.replaceAll(',', '')
  const [byText, byProvider, byAmount, customers] = await Promise.all([
    rowsOf<Payment>(request, 'payments.listAll', { search: q }),
    rowsOf<Payment>(request, 'payments.listAll', { gatewayReference: q }),
    AMOUNT.test(amount)
      ? rowsOf<Payment>(request, 'payments.listAll', { minAmount: amount, maxAmount: amount })
      : [],
    rowsOf<Customer>(request, 'customers.list', { search: q }),
  ])
  const payments = new Map([...byProvider, ...byText, ...byAmount].map((one) => [one.uuid, one]))
  return [[...payments.values()], customers]
}

async function rowsOf<Row>(
  { call, allows }: ScreenRequest,
  operation: OperationId,
  query: OperationCall['query'],
): Promise<Row[]> {
  if (!allows(operation)) return []
  // A boundary: the operation returns records of its schema, and the caller names their type.
  return (await call(operation, { query: { ...query, limit: MOST } })).data as Row[]
}
