// One search box: records by their id, payments by reference, e-mail, receipt, reference at the provider or amount, and customers.

import type { Static } from 'typebox'
import { API_ERRORS, ApiError } from '../../core/errors.ts'
import { isUuid } from '../../core/ids.ts'
import type { PageMeta } from '../../core/page.ts'
import type { CustomerRecord } from '../../customers/schema.ts'
import { type Html, html } from '../../kit/http/html.ts'
import type { OperationCall, OperationId } from '../../kit/http/route.ts'
import { empty, searchNotice, table, written } from '../frame/components.ts'
import type { Screen, ScreenRequest } from '../frame/screen.ts'
import { findRequest } from './developers/requests.ts'
import { ENDPOINTS_PATH, EVENTS_PATH } from './developers/tabs.ts'
import { PAYMENTS_PATH, type Payment, paymentColumns } from './payments.ts'

type Customer = Static<typeof CustomerRecord>

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
    const address = await findById(request, q)
    if (address) return { redirectTo: address }
    const { payments, customers, isPartial } = q === '' ? NOTHING : await find(request, q)
    const title = t('searchTitle', { text: q })
    const isNothing = payments.length === 0 && customers.length === 0
    const body = html`<div class="head"><h1>${title}</h1></div>${isPartial}${isNothing && empty(t('searchNone'), t('searchNoneText'))}
${payments.length > 0 && html`<h2>${t('paymentsTitle')}</h2>${table(t('paymentsTitle'), paymentColumns(texts), payments)}`}
${customers.length > 0 && html`<h2>${t('customersTitle')}</h2><section class="card"><ul class="todo">${customers.map(({ uuid, firstname, lastname, email }) => html`<li><a href="/app/customers/${uuid}">${written(`${firstname} ${lastname}`)}</a> <span class="sub">${written(email)}</span></li>`)}</ul></section>`}`
    return { title, body }
  },
}

/** The address of the record with this id, of any kind that the person may see. */
async function findById(request: ScreenRequest, q: string): Promise<string | undefined> {
  const uuid = q.toLowerCase()
  if (!isUuid(uuid)) return undefined
  const found = await Promise.all([
    ...KINDS.map((kind) => findRecord(request, kind, uuid)),
    // Callers choose the ids of requests, also in upper case.
    findRequest(request, q),
    findRequest(request, uuid),
  ])
  return found.find((address) => address !== undefined)
}

interface Kind {
  operation: OperationId
  addressOf(record: Record<string, unknown>): string
}

const KINDS: readonly Kind[] = [
  { operation: 'payments.get', addressOf: ({ uuid }) => `${PAYMENTS_PATH}/${uuid}` },
  { operation: 'charges.get', addressOf: ({ uuid }) => `${PAYMENTS_PATH}/${uuid}` },
  { operation: 'refunds.get', addressOf: ({ paymentUuid }) => `${PAYMENTS_PATH}/${paymentUuid}` },
  { operation: 'customers.get', addressOf: ({ uuid }) => `/app/customers/${uuid}` },
  { operation: 'events.get', addressOf: ({ id }) => `${EVENTS_PATH}/${id}` },
  { operation: 'webhookEndpoints.get', addressOf: ({ uuid }) => `${ENDPOINTS_PATH}/${uuid}` },
]

async function findRecord(
  { call, allows }: ScreenRequest,
  { operation, addressOf }: Kind,
  uuid: string,
): Promise<string | undefined> {
  if (!allows(operation)) return undefined
  try {
    // A boundary: the operation returns a record.
    return addressOf((await call(operation, { params: { uuid } })).data as Record<string, unknown>)
  } catch (error) {
    if (error instanceof ApiError && API_ERRORS[error.code].http === 404) return undefined
    throw error
  }
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
