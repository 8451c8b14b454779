// The queue of cases, and one case: what is known, what can be done, and the approval by a second person.

import { isCurrency } from '../../core/currency.ts'
import type { ApiError } from '../../core/errors.ts'
import { type Html, html } from '../../kit/http/html.ts'
import type { Expected } from '../../kit/http/route.ts'
import { isFrom, type RefundLimits } from '../../refunds/limits/limit.ts'
import type { Area } from '../frame/area.ts'
import { badge, facts, notice, written } from '../frame/components.ts'
import { orShowProblem } from '../frame/form-input.ts'
import { type ListScreen, listScreens } from '../frame/list-screen.ts'
import type { AreaRequest, Screen } from '../frame/screen.ts'
import { MERCHANTS_PATH } from '../ops/merchants.ts'
import { caseForms, isOwnProposal } from './case/forms.ts'
import { type NameOf, namesIn, noteLines, peopleOf } from './case/people.ts'
import type { Case } from './case/record.ts'
import { lastAsked, loadTimeline, timelineCard } from './case/timeline.ts'
import { changesOfProposal, changesSince } from './case/version.ts'
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
  {
    method: 'POST',
    path: '/cases/{uuid}/approve',
    needs: ['cases.resolve'],
    // It stands for a second person, and may move money.
    stepUp: true,
    handle: approve,
  },
  { method: 'POST', path: '/cases/{uuid}/reject', needs: ['cases.reject'], handle: reject },
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

interface Refused {
  problem?: ApiError
  /** What has changed since the form was made, in sentences. */
  changes?: readonly string[]
}

async function show(request: AreaRequest, one: Case, { problem, changes }: Refused = {}) {
  const { texts, query } = request
  const { t } = texts
  const title = texts.word('case', one.kind)
  const [entries, nameOf] = await Promise.all([loadTimeline(request, one), namesIn(request)])
  const asked = lastAsked(entries, one, texts, nameOf)
  const body = html`<div class="head"><h1>${title}</h1>${badge(texts, one.state)}</div>
${query.done === 'resolve' && notice('good', html`<p>${t(DONE[one.state])}</p>`)}
${query.done === 'ask' && notice('good', html`<p>${t(one.state === 'resolved' ? 'done_resolve' : 'done_asked')}</p>`)}
${query.done === 'reject' && one.state === 'open' && notice('good', html`<p>${t('done_proposalEnded')}</p>`)}
${changes && notice('bad', html`<p>${t('staleCase')}</p>${changes.map((text) => html`<p>${text}</p>`)}`)}
${problem && notice('bad', html`<p>${problem.message}</p>`)}
<div class="split"><div><section class="card"><p>${texts.word('meaning', one.kind)}</p>${caseFacts(request, one, { asked, nameOf })}</section>${timelineCard(request, entries, one, nameOf)}</div>
<div>${caseForms(request, one, nameOf)}</div></div>`
  return { title, body, http: changes ? 409 : problem ? 422 : 200 }
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
    [t('note'), noteLines(one.note, one.resolvedBy, texts, nameOf)],
    [t('proof'), one.proof && html`<code>${one.proof}</code>`],
    [t('resolved'), one.resolvedAt && texts.time(one.resolvedAt)],
    [t('resolvedBy'), peopleOf(one.resolvedBy, texts, nameOf)],
  ])
}

const customerName = ({ firstname, lastname, email, phone }: NonNullable<Case['customer']>) =>
  html`${written(`${firstname} ${lastname}`)} <span class="sub">${written(email)}</span>${phone && html`<span class="sub"><bdi dir="ltr">${phone}</bdi></span>`}`

const paymentLink = ({ paymentUuid, paymentReference }: Case) =>
  html`<a href="${PAYMENTS_PATH}/${paymentUuid}">${written(paymentReference)}</a>`

/** The decision was made or proposed before with the same form. */
function isRepeated(request: AreaRequest, one: Case): boolean {
  const { resolution, proof = '' } = request.form
  const own = isOwnProposal(request, one) ? one.proposal : null
  const isSame = (made: { resolution: string | null; proof: string | null } | null) =>
    made?.resolution === resolution && (made?.proof ?? '') === proof
  return isSame(one) || isSame(own)
}

async function resolve(request: AreaRequest) {
  const { form, texts } = request
  const { resolution = '', note = '', proof, version = '' } = form
  const one = await load(request)
  const changes = isRepeated(request, one) ? [] : changesSince(version, one, texts)
  if (changes.length > 0) return show(request, one, { changes })
  const body = { resolution, note, ...(proof && { proof }) }
  // Another person may propose the same after the case was read: that must not become an approval.
  return decide(request, 'cases.resolve', body, { proposedAt: one.proposal?.at ?? null })
}

/** The form names the proposal that the person has seen. */
async function approve(request: AreaRequest) {
  const { proposedAt = '', approval, resolution: seen } = request.form
  const one = await load(request)
  const { proposal } = one
  // The form was sent twice, or a third person has approved the same.
  if (one.resolution !== null && one.resolution === seen) return done(request, 'resolve')
  if (proposal?.at !== proposedAt)
    return show(request, one, { changes: changesOfProposal(one, request.texts) })
  const { resolution, note, proof } = proposal
  const body = { resolution, note: approval?.trim() || note, ...(proof !== null && { proof }), proposedAt }
  return decide(request, 'cases.resolve', body)
}

async function reject(request: AreaRequest) {
  const { proposedAt, reason } = request.form
  const one = await load(request)
  if (one.proposal && one.proposal.at !== proposedAt)
    return show(request, one, { changes: changesOfProposal(one, request.texts) })
  return decide(request, 'cases.reject', { proposedAt, ...(reason && { note: reason }) })
}

async function decide(
  request: AreaRequest,
  operation: 'cases.resolve' | 'cases.reject',
  body: Record<string, unknown>,
  expected?: Expected,
) {
  const { call, params, submission, form, texts } = request
  const { uuid = '' } = params
  return orShowProblem(
    async () => {
      await call(operation, {
        params: { uuid },
        body,
        idempotencyKey: submission,
        ...(expected && { expected }),
      })
      return done(request, doneBy(operation, body))
    },
    async (problem) => {
      const one = await load(request)
      const changes =
        expected && problem.code === 'invalid_state' ? changesSince(form.version ?? '', one, texts) : []
      return show(request, one, changes.length > 0 ? { changes } : { problem })
    },
  )
}

type Done = 'reject' | 'resolve' | 'ask'

/** A status check is never proposed, so a proposal that stands afterwards is not of this form. */
function doneBy(operation: 'cases.resolve' | 'cases.reject', { resolution }: Record<string, unknown>): Done {
  if (operation === 'cases.reject') return 'reject'
  return resolution === 'ask_again' ? 'ask' : 'resolve'
}

const done = ({ base, params }: AreaRequest, what: Done) => ({
  redirectTo: `${pathIn(base)}/${params.uuid}?done=${what}`,
})
