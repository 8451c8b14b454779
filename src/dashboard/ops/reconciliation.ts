// Settlement files that were compared with our records, and the breaks that they left.

import type { Static } from 'typebox'
import type { ApiError } from '../../core/errors.ts'
import { type Html, html } from '../../kit/http/html.ts'
import type { BreakRecord, ReconciliationRecord } from '../../reconciliation/schema.ts'
import { badge, facts, field, notice, written } from '../frame/components.ts'
import { listScreens } from '../frame/list-screen.ts'
import type { AreaRequest, Screen } from '../frame/screen.ts'
import type { Texts } from '../frame/texts.ts'
import { act } from './act.ts'
import { dataOf } from './data.ts'

type File = Static<typeof ReconciliationRecord>
type Break = Static<typeof BreakRecord>

const BREAKS_PATH = '/ops/breaks'

export const reconciliationScreens: Screen<AreaRequest>[] = [
  ...listScreens<File, AreaRequest>({
    path: '/reconciliations',
    title: 'opsFilesTitle',
    list: 'reconciliations.list',
    filters: [{ name: 'gateway', label: 'gateway' }],
    columns: (texts) => [
      {
        label: texts.t('opsFile'),
        isTitle: true,
        cell: ({ uuid, fileName, gateway }) =>
          html`<a class="row" href="${BREAKS_PATH}?reconciliation=${uuid}&amp;state=all">${written(fileName ?? uuid)}</a><span class="sub">${gateway}</span>`,
      },
      { label: texts.t('status'), isBeside: true, cell: ({ status }) => badge(texts, status) },
      { label: texts.t('opsRows'), isNumber: true, cell: ({ rows }) => texts.number(rows) },
      { label: texts.t('opsMatched'), isNumber: true, cell: ({ matched }) => texts.number(matched) },
      { label: texts.t('opsBreaks'), isNumber: true, cell: ({ breaks }) => texts.number(breaks) },
      { label: texts.t('created'), cell: ({ createdAt }) => texts.time(createdAt) },
    ],
    emptyTitle: 'opsNoFilesTitle',
    emptyText: 'opsNoFilesText',
    actions: ({ texts: { t } }) => html`<a class="button plain" href="${BREAKS_PATH}">${t('opsBreaks')}</a>`,
  }),
  ...listScreens<Break, AreaRequest>({
    path: '/breaks',
    title: 'opsBreaks',
    list: 'reconciliationBreaks.list',
    filters: [
      { name: 'state', label: 'status', values: ['open', 'closed', 'all'], prefix: 'status' },
      { name: 'gateway', label: 'gateway' },
      { name: 'reconciliation', label: 'opsFileId' },
    ],
    columns: (texts) => [
      {
        label: texts.t('opsBreak'),
        isTitle: true,
        cell: ({ uuid, kind, subject }) =>
          html`<a class="row" href="${BREAKS_PATH}/${uuid}">${texts.word('break', kind)}</a><span class="sub">${written(subject)}</span>`,
      },
      { label: texts.t('status'), isBeside: true, cell: ({ state }) => badge(texts, state) },
      { label: texts.t('gateway'), cell: ({ gateway }) => gateway },
      { label: texts.t('opsAssignedTo'), cell: ({ owner }) => written(owner) },
      { label: texts.t('opsDays'), isNumber: true, cell: ({ ageDays }) => texts.number(ageDays) },
    ],
    emptyTitle: 'opsNoBreaksTitle',
    emptyText: 'opsNoBreaksText',
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

async function show(request: AreaRequest, problem?: ApiError) {
  const {
    texts,
    query,
    params: { uuid = '' },
  } = request
  const { t } = texts
  const one = await dataOf<Break>(request, 'reconciliationBreaks.get', { params: { uuid } })
  const title = texts.word('break', one.kind)
  const body = html`<div class="head"><h1>${title}</h1>${badge(texts, one.state)}</div>
${query.done === 'saved' && notice('good', html`<p>${t('done_saved')}</p>`)}${problem && notice('bad', html`<p>${problem.message}</p>`)}
<div class="split"><div>${breakFacts(one, texts)}${side(t('opsOurs'), one.ours, texts)}${side(t('opsTheirs'), one.theirs, texts)}</div>
<div>${one.state === 'open' && forms(request, one)}</div></div>`
  return { title, body, http: problem ? 422 : 200 }
}

function breakFacts(one: Break, texts: Texts): Html {
  const { t } = texts
  return html`<section class="card">${facts([
    [t('opsObject'), written(one.subject)],
    [t('gateway'), one.gateway],
    [t('opsAssignedTo'), written(one.owner)],
    [t('note'), written(one.note)],
    [t('created'), texts.time(one.openedAt)],
    [t('opsClosed'), texts.time(one.closedAt)],
  ])}</section>`
}

function side(title: string, record: Break['ours'], texts: Texts): Html | false {
  if (record === null)
    return html`<section class="card"><h2>${title}</h2><p>${texts.t('opsNoRecord')}</p></section>`
  const { key, reference, status, amount, currency, fee } = record
  return html`<section class="card"><h2>${title}</h2>${facts([
    [texts.t('amount'), texts.amount(amount, currency ?? '')],
    [texts.t('fee'), texts.amount(fee, currency ?? '')],
    [texts.t('status'), status],
    [texts.t('reference'), written(key)],
    [texts.t('gatewayReference'), written(reference)],
  ])}</section>`
}

function forms({ texts: { t }, postForm, form }: AreaRequest, { uuid, owner }: Break): Html {
  const path = `${BREAKS_PATH}/${uuid}`
  const assign = html`${field('owner', t('opsAssignedTo'), { value: form.owner ?? owner ?? '', isRequired: true })}${field('note', t('note'), { value: form.note ?? '' })}<button class="plain">${t('opsAssign')}</button>`
  const close = html`${field('reason', t('opsCloseReason'), { value: form.reason ?? '', isRequired: true })}<button>${t('opsClose')}</button>`
  return html`<section class="card"><h2>${t('opsAssign')}</h2>${postForm(`${path}/assign`, assign)}</section>
<section class="card"><h2>${t('opsClose')}</h2><p>${t('opsCloseText')}</p>${postForm(`${path}/close`, close)}</section>`
}

function change(
  request: AreaRequest,
  operation: 'reconciliationBreaks.assign' | 'reconciliationBreaks.close',
  body: Record<string, string>,
) {
  const { uuid = '' } = request.params
  return act(
    async () => {
      await request.call(operation, { params: { uuid }, body })
      return { redirectTo: `${BREAKS_PATH}/${uuid}?done=saved` }
    },
    (problem) => show(request, problem),
  )
}
