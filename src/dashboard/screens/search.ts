// One search box: payments by reference, e-mail, receipt, reference at the provider or amount, and customers.

import type { Static } from 'typebox'
import type { PageMeta } from '../../core/page.ts'
import type { CustomerRecord } from '../../customers/schema.ts'
import { type Html, html } from '../../kit/http/html.ts'
import type { OperationCall, OperationId } from '../../kit/http/route.ts'
import { empty, searchNotice, table, written } from '../frame/components.ts'
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
    const { payments, customers, isPartial } = q === '' ? NOTHING : await find(request, q)
    const title = t('searchTitle', { text: q })
    const isNothing = payments.length === 0 && customers.length === 0
    const body = html`<div class="head"><h1>${title}</h1></div>${isPartial}${isNothing && empty(t('searchNone'), t('searchNoneText'))}
${payments.length > 0 && html`<h2>${t('paymentsTitle')}</h2>${table(t('paymentsTitle'), paymentColumns(texts), payments)}`}
${customers.length > 0 && html`<h2>${t('customersTitle')}</h2><section class="card"><ul class="todo">${customers.map(({ uuid, firstname, lastname, email }) => html`<li><a href="/app/customers/${uuid}">${written(`${firstname} ${lastname}`)}</a> <span class="sub">${written(email)}</span></li>`)}</ul></section>`}`
    return { title, body }
  },
}

interface Found {
  payments: Payment[]
  customers: Customer[]
  /** That there are more. */
  isPartial: Html | null
}

const NOTHING: Found = { payments: [], customers: [], isPartial: null }

async function find(request: ScreenRequest, q: string): Promise<Found> {
  const amount = q.replaceAll(',', '')
  const [byText, byAmount, customers] = await Promise.all([
    listOf<Payment>(request, 'payments.listAll', { search: q }),
    AMOUNT.test(amount)
      ? listOf<Payment>(request, 'payments.listAll', { minAmount: amount, maxAmount: amount })
      : EMPTY,
    listOf<Customer>(request, 'customers.list', { search: q }),
  ])
  const payments = new Map([...byText.rows, ...byAmount.rows].map((one) => [one.uuid, one]))
  const { texts } = request
  return {
    payments: [...payments.values()],
    customers: customers.rows,
    isPartial: searchNotice(texts, byText.meta) ?? searchNotice(texts, customers.meta),
  }
}

interface Listed<Row> {
  rows: Row[]
  meta?: PageMeta | undefined
}

const EMPTY: Listed<never> = { rows: [] }

async function listOf<Row>(
  { call, allows }: ScreenRequest,
  operation: OperationId,
  query: OperationCall['query'],
): Promise<Listed<Row>> {
  if (!allows(operation)) return EMPTY
  const { data, meta } = await call(operation, { query: { ...query, limit: MOST } })
  // A boundary: the operation returns records of its schema, and the caller names their type.
  return { rows: data as Row[], meta }
}
