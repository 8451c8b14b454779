// The differences between settlement files and our records, and one difference: what both sides say, who works on it, and its
// end with a note.

import type { Static } from 'typebox'
import type { ApiError } from '../../../core/errors.ts'
import { type Html, html } from '../../../kit/http/html.ts'
import type { OperationId } from '../../../kit/http/route.ts'
import type { BreakRecord, ReconciliationRecord } from '../../../reconciliation/schema.ts'
import type { Area } from '../../frame/area.ts'
import { badge, facts, field, notice, problemNotice, written } from '../../frame/components.ts'
import { fieldErrors, orShowProblem } from '../../frame/form-input.ts'
import type { Labels } from '../../frame/issues.ts'
import { listScreens } from '../../frame/list-screen.ts'
import type { AreaRequest, Screen } from '../../frame/screen.ts'
import type { Texts } from '../../frame/texts.ts'
import { PAYMENTS_PATH } from '../payments.ts'

type File = Static<typeof ReconciliationRecord>
export type Break = Static<typeof BreakRecord>

/** Of the merchant's own accounts, or for operators of every account. */
export const breakScreens = (base: Area['path']): Screen<AreaRequest>[] => [
  ...listScreens<Break, AreaRequest>({
    path: '/breaks',
    title: 'opsBreaks',
    list: 'reconciliationBreaks.list',
    filters: [
      {
        ...{ name: 'state', label: 'status', values: ['open', 'closed', 'all'], prefix: 'status' },
        ...{ initial: 'open', isRequired: true },
      },
      { name: 'gateway', label: 'gateway' },
      { name: 'reconciliation', label: 'opsFileId' },
    ],
    intro: fileOf,
    columns: (texts) => [
      {
        label: texts.t('opsBreak'),
        isTitle: true,
        cell: ({ uuid, kind, subject }) =>
          html`<a class="row" href="${base}/breaks/${uuid}">${texts.word('break', kind)}</a><span class="sub">${written(subject)}</span>`,
      },
      { label: texts.t('opsOurs'), isNumber: true, cell: ({ ours }) => amountOf(ours, texts) },
      { label: texts.t('opsTheirs'), isNumber: true, cell: ({ theirs }) => amountOf(theirs, texts) },
      { label: texts.t('status'), isBeside: true, cell: ({ state }) => badge(texts, state) },
      { label: texts.t('gateway'), cell: ({ gateway }) => gateway },
      { label: texts.t('opsAssignedTo'), cell: (one) => assigneeOf(one, texts) },
      { label: texts.t('opsDays'), isNumber: true, cell: ({ ageDays }) => texts.number(ageDays) },
    ],
    emptyTitle: 'opsNoBreaksTitle',
    emptyText: 'opsNoBreaksText',
    actions: ({ texts: { t } }) =>
      html`<a class="button plain" href="${base}/reconciliations">${t('settlementFiles')}</a>`,
  }),
  {
    method: 'GET',
    path: '/breaks/{uuid}',
    needs: ['reconciliationBreaks.get'],
    handle: (request) => show(request),
  },
  {
    method: 'POST',
    path: '/breaks/{uuid}/assign',
    needs: ['reconciliationBreaks.assign'],
    handle: (request) =>
      change(request, 'reconciliationBreaks.assign', {
        owner: request.form.owner ?? '',
        ...(request.form.note && { note: request.form.note }),
      }),
  },
  {
    method: 'POST',
    path: '/breaks/{uuid}/close',
    needs: ['reconciliationBreaks.close'],
    handle: (request) => change(request, 'reconciliationBreaks.close', { note: request.form.reason ?? '' }),
  },
]

/** What came of the file, above the differences that it has left. */
async function fileOf({ call, query, texts }: AreaRequest): Promise<Html | null> {
  const { reconciliation: uuid } = query
  if (!uuid) return null
  // A boundary: the operation returns a record of its schema.
  const file = (await call('reconciliations.get', { params: { uuid } })).data as File
  const { t, number } = texts
  return html`${query.done === 'file' && notice('good', html`<p>${t('done_file')}</p>`)}<section class="card"><h2>${written(file.fileName ?? file.gateway)}</h2>${facts(
    [
      [t('gateway'), file.gateway],
      [t('opsRows'), number(file.rows)],
      [t('opsMatched'), number(file.matched)],
      [t('fileSettled'), number(file.settled)],
      [t('fileBreaksFound'), number(file.breaks)],
      [t('fileIgnored'), number(file.ignored)],
      [t('created'), texts.time(file.createdAt)],
    ],
  )}</section>`
}

export function amountOf(side: Break['ours'], texts: Texts): string {
  return side === null ? '' : texts.amount(side.amount, side.currency ?? '')
}

/** Both forms send a note: in the one that closes it is called the reason. */
const labelsOf = ({ texts: { t }, form }: AreaRequest) => ({
  owner: t('opsAssignedTo'),
  note: t(form.reason === undefined ? 'note' : 'opsCloseReason'),
})

async function show(request: AreaRequest, problem?: ApiError) {
  const {
    base,
    texts,
    query,
    call,
    params: { uuid = '' },
  } = request
  const { t } = texts
  // A boundary: the operation returns a record of its schema.
  const one = (await call('reconciliationBreaks.get', { params: { uuid } })).data as Break
  const title = texts.word('break', one.kind)
  const body = html`<div class="head"><h1>${title}</h1>${badge(texts, one.state)}</div>
${query.done === 'saved' && notice('good', html`<p>${t('done_saved')}</p>`)}${problemNotice(problem, labelsOf(request))}
<div class="split"><div>${breakFacts(one, base, texts)}${side(t('opsOurs'), one.ours, texts)}${side(t('opsTheirs'), one.theirs, texts)}</div>
<div>${one.state === 'open' && forms(request, one, fieldErrors(problem, labelsOf(request)))}</div></div>`
  return { title, body, http: problem ? 422 : 200 }
}

function breakFacts(one: Break, base: string, texts: Texts): Html {
  const { t } = texts
  const { paymentUuid, reconciliationUuid } = one
  return html`<section class="card">${facts([
    [t('opsObject'), written(one.subject)],
    [t('gateway'), one.gateway],
    // Operators have no screen of a payment.
    paymentUuid !== null &&
      base === '/app' && [
        t('payment'),
        html`<a href="${PAYMENTS_PATH}/${paymentUuid}">${one.ours?.key ?? paymentUuid}</a>`,
      ],
    [
      t('opsFile'),
      html`<a href="${base}/breaks?reconciliation=${reconciliationUuid}&amp;state=all">${t('fileDifferences')}</a>${one.line !== null && html` · ${t('fileLine', { line: one.line })}`}`,
    ],
    [t('opsAssignedTo'), assigneeOf(one, texts)],
    [t('note'), written(one.note)],
    [t('created'), texts.time(one.openedAt)],
    [t('opsClosed'), texts.time(one.closedAt)],
  ])}</section>`
}

function side(title: string, record: Break['ours'], texts: Texts): Html | false {
  if (record === null)
    return html`<section class="card"><h2>${title}</h2><p>${texts.t('opsNoRecord')}</p></section>`
  const { key, reference, status, currency, fee } = record
  return html`<section class="card"><h2>${title}</h2>${facts([
    [texts.t('amount'), amountOf(record, texts)],
    [texts.t('fee'), texts.amount(fee, currency ?? '')],
    [texts.t('status'), status === null ? '' : texts.word('status', status)],
    [texts.t('reference'), written(key)],
    [texts.t('gatewayReference'), written(reference)],
  ])}</section>`
}

/** Merchants do not see which operator it is. */
const OPERATOR = 'operator'
const assigneeOf = ({ owner }: Break, { t }: Texts) =>
  owner === OPERATOR ? t('actor_operator') : written(owner)

function forms(request: AreaRequest, { uuid, owner }: Break, errors: Labels): Html {
  const { base, texts, postForm, form, allows, principal } = request
  const { t } = texts
  const path = `${base}/breaks/${uuid}`
  const isClosing = form.reason !== undefined
  const assignee = form.owner ?? (owner === OPERATOR ? null : owner) ?? principal.user.name
  const assign = html`${field('owner', t('opsAssignedTo'), { value: assignee, isRequired: true, error: errors.owner })}${field('note', t('note'), { value: form.note ?? '', error: isClosing ? undefined : errors.note })}<button class="plain">${t('opsAssign')}</button>`
  const close = html`${field('reason', t('opsCloseReason'), { value: form.reason ?? '', isRequired: true, error: isClosing ? errors.note : undefined })}<button>${t('opsClose')}</button>`
  return html`${allows('reconciliationBreaks.assign') && html`<section class="card"><h2>${t('opsAssign')}</h2>${postForm(`${path}/assign`, assign)}</section>`}
${allows('reconciliationBreaks.close') && html`<section class="card"><h2>${t('opsClose')}</h2><p>${t('opsCloseText')}</p>${postForm(`${path}/close`, close)}</section>`}`
}

function change(request: AreaRequest, operation: OperationId, body: Record<string, string>) {
  const { base, call } = request
  const { uuid = '' } = request.params
  return orShowProblem(
    async () => {
      await call(operation, { params: { uuid }, body })
      return { redirectTo: `${base}/breaks/${uuid}?done=saved` }
    },
    (problem) => show(request, problem),
  )
}
