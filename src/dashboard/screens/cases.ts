// The queue of cases, and one case: what is known, what can be done, and the approval by a second person.

import { isCurrency } from '../../core/currency.ts'
import { ApiError } from '../../core/errors.ts'
import { type Html, html } from '../../kit/http/html.ts'
import { isFrom, type RefundLimits } from '../../refunds/limits/limit.ts'
import type { Area } from '../frame/area.ts'
import { badge, facts, field, notice, written } from '../frame/components.ts'
import { type ListScreen, listScreens } from '../frame/list-screen.ts'
import type { AreaRequest, Screen } from '../frame/screen.ts'
import type { Texts } from '../frame/texts.ts'
import { MERCHANTS_PATH } from '../ops/merchants.ts'
import { type NameOf, namesIn, peopleOf } from './case/people.ts'
import type { Case } from './case/record.ts'
import { lastAsked, loadTimeline, timelineCard } from './case/timeline.ts'
import { PAYMENTS_PATH } from './payments.ts'

const FILTERS: ListScreen<Case>['filters'] = [
  {
    name: 'state',
    label: 'status',
    values: ['open', 'resolved', 'all'],
    prefix: 'status',
    initial: 'open',
    isRequired: true,
  },
]
const OWNER_FILTER = {
  name: 'owner',
  label: 'opsOwner',
  values: ['operator', 'merchant'],
  prefix: 'owner',
} as const

const pathIn = (base: string) => `${base}/cases`

/** The cases of the merchant, or for operators those of all merchants. */
export const caseScreens = (base: Area['path']): Screen<AreaRequest>[] => [
  ...listScreens<Case, AreaRequest>({
    path: '/cases',
    title: 'casesTitle',
    list: 'cases.list',
    // Those of operators are always the oldest first.
    ...(base === '/app' && { exports: 'cases.export', sort: 'createdAt:asc' }),
    filters: base === '/ops' ? [...FILTERS, OWNER_FILTER] : FILTERS,
    columns: (texts) => [
      {
        label: texts.t('case'),
        isTitle: true,
        cell: ({ uuid, kind }) =>
          html`<a class="row" href="${pathIn(base)}/${uuid}">${texts.word('case', kind)}</a><span class="sub">${texts.word('meaning', kind)}</span>`,
      },
      ...(base === '/ops' ? [{ label: texts.t('opsMerchant'), cell: merchantLink }] : []),
      { label: texts.t('payment'), cell: ({ paymentReference }) => written(paymentReference) },
      {
        label: texts.t('amount'),
        isNumber: true,
        isBeside: true,
        cell: ({ amount, currency }) => texts.amount(amount, currency),
      },
      { label: texts.t('status'), isBeside: true, cell: ({ state }) => badge(texts, state) },
      { label: texts.t('created'), cell: ({ openedAt }) => texts.time(openedAt) },
    ],
    emptyTitle: 'noCasesTitle',
    emptyText: 'noCasesText',
  }),
  {
    method: 'GET',
    path: '/cases/{uuid}',
    needs: ['cases.get'],
    handle: async (request) => show(request, await load(request)),
  },
  {
    method: 'POST',
    path: '/cases/{uuid}/resolve',
    needs: ['cases.resolve'],
    // An operator decides about the money of others.
    stepUp: base === '/ops' ? true : returnsMuch,
    handle: resolve,
  },
]

/** Whether money goes back, from the amount on before which people confirm who they are. */
async function returnsMuch(request: AreaRequest): Promise<boolean> {
  const { call, form } = request
  if (form.resolution !== 'return') return false
  const { amount, amountReceived, currency, receivedCurrency } = await load(request)
  const sums = [
    { decimal: amount, currency },
    { decimal: amountReceived, currency: receivedCurrency ?? currency },
  ]
  for (const { decimal, currency: code } of sums) {
    if (decimal === null || !isCurrency(code)) continue
    // A boundary: the operation returns this type.
    const limits = (await call('refunds.limits', { query: { currency: code } })).data as RefundLimits
    if (isFrom(limits.confirmationFrom, decimal, code)) return true
  }
  return false
}

async function load({ call, params: { uuid = '' } }: AreaRequest): Promise<Case> {
  // A boundary: the operation returns a record of this schema.
  return (await call('cases.get', { params: { uuid } })).data as Case
}

async function show(request: AreaRequest, one: Case, problem?: ApiError) {
  const { texts, query } = request
  const { t } = texts
  const title = texts.word('case', one.kind)
  const [entries, nameOf] = await Promise.all([loadTimeline(request, one), namesIn(request)])
  const asked = lastAsked(entries, one, texts, nameOf)
  const body = html`<div class="head"><h1>${title}</h1>${badge(texts, one.state)}</div>
${query.done === 'resolve' && notice('good', html`<p>${t(DONE[one.state])}</p>`)}
${problem && notice('bad', html`<p>${problem.message}</p>`)}
<div class="split"><div><section class="card"><p>${texts.word('meaning', one.kind)}</p>${caseFacts(request, one, { asked, nameOf })}</section>${timelineCard(request, entries, one, nameOf)}</div>
<div>${one.proposal && proposal(one.proposal, texts, nameOf)}${resolveForm(request, one)}</div></div>`
  return { title, body, http: problem ? 422 : 200 }
}

/** What the form has done. A case that is still open stays so because the gateway does not know. */
const DONE = { open: 'done_asked', awaiting_approval: 'done_propose', resolved: 'done_resolve' } as const

function merchantLink({ merchantUuid, merchantName }: Case): Html | null {
  if (merchantUuid === undefined || merchantName === undefined) return null
  return html`<a href="${MERCHANTS_PATH}/${merchantUuid}">${written(merchantName)}</a>`
}

function caseFacts(
  { base, texts }: AreaRequest,
  one: Case,
  { asked, nameOf }: { asked: Html | null; nameOf: NameOf },
): Html {
  const { t } = texts
  return facts([
    [t('payment'), base === '/app' ? paymentLink(one) : written(one.paymentReference)],
    [t('opsMerchant'), merchantLink(one)],
    [t('customer'), one.customer && customerName(one.customer)],
    [t('amount'), texts.amount(one.amount, one.currency)],
    [
      t('received'),
      one.amountReceived !== null && texts.amount(one.amountReceived, one.receivedCurrency ?? one.currency),
    ],
    [t('refund'), one.refundAmount !== null && texts.amount(one.refundAmount, one.currency)],
    [t('gateway'), one.paymentGateway],
    [t('gatewayReference'), one.gatewayReference && html`<code>${one.gatewayReference}</code>`],
    [t('providerWords'), written(one.providerMessage)],
    [t('asked'), texts.time(one.askedAt)],
    [t('lastAsked'), asked],
    [t('created'), texts.time(one.openedAt)],
    [t('resolution'), one.resolution && texts.word('resolution', one.resolution)],
    [t('note'), written(one.note)],
    [t('proof'), one.proof && html`<code>${one.proof}</code>`],
    [t('resolved'), one.resolvedAt && texts.time(one.resolvedAt)],
    [t('resolvedBy'), peopleOf(one.resolvedBy, texts, nameOf)],
  ])
}

const customerName = ({ firstname, lastname, email, phone }: NonNullable<Case['customer']>) =>
  html`${written(`${firstname} ${lastname}`)} <span class="sub">${written(email)}</span>${phone && html`<span class="sub"><bdi dir="ltr">${phone}</bdi></span>`}`

const paymentLink = ({ paymentUuid, paymentReference }: Case) =>
  html`<a href="${PAYMENTS_PATH}/${paymentUuid}">${written(paymentReference)}</a>`

function proposal(
  { resolution, note, by, at }: NonNullable<Case['proposal']>,
  texts: Texts,
  nameOf: NameOf,
): Html {
  const { t } = texts
  return notice(
    'wait',
    html`<p>${t('proposed', { resolution: texts.word('resolution', resolution) })}</p><p>${written(note)}</p><p>${peopleOf(by, texts, nameOf)}</p><p>${texts.time(at)}</p>`,
  )
}

function resolveForm({ base, allows, postForm, texts, form }: AreaRequest, one: Case): Html | null {
  const { t } = texts
  if (!allows('cases.resolve') || one.resolutions.length === 0 || one.resolvedAt !== null) return null
  const chosen = form.resolution ?? one.proposal?.resolution
  const choices = one.resolutions.map(
    (value) =>
      html`<label class="tick"><input type="radio" name="resolution" value="${value}" required${value === chosen && html` checked`}> <span>${texts.word('resolution', value)}<span class="sub">${texts.word('effect', value)}</span></span></label>`,
  )
  const fields = html`<fieldset><legend>${t('decide')}</legend>${choices}</fieldset>
${field('proof', t('proof'), { value: form.proof ?? one.proposal?.proof ?? '', hint: t('proofHint') })}
${field('note', t('note'), { value: form.note ?? '', isRequired: true, hint: t('noteHint') })}<button>${t('decideButton')}</button>`
  return html`<section class="card"><h2>${t('decideTitle')}</h2>${postForm(`${pathIn(base)}/${one.uuid}/resolve`, fields)}</section>`
}

async function resolve(request: AreaRequest) {
  const {
    call,
    params: { uuid = '' },
    form,
    submission,
  } = request
  const { resolution = '', note = '', proof } = form
  try {
    const body = { resolution, note, ...(proof && { proof }) }
    await call('cases.resolve', { params: { uuid }, body, idempotencyKey: submission })
    return { redirectTo: `${pathIn(request.base)}/${uuid}?done=resolve` }
  } catch (error) {
    if (error instanceof ApiError) return show(request, await load(request), error)
    throw error
  }
}
