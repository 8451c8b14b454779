// Home: what needs attention first, then today against the same day of last week, then the health of gateways and webhooks.

import { type Html, html } from '../../kit/http/html.ts'
import type { OperationId } from '../../kit/http/route.ts'
import { liveMark } from '../frame/live.ts'
import type { Screen, ScreenRequest } from '../frame/screen.ts'
import { ENDPOINTS_PATH } from './developers/tabs.ts'
import { approvalsAndHealth, isFailing, loadEndpoints } from './home-health.ts'
import { today } from './home-today.ts'
import { disputesToAnswer } from './money/disputes.ts'
import { ownRequests } from './money/own-requests.ts'
import { REQUESTS_PATH } from './refunds.ts'

export const homeScreen: Screen = {
  method: 'GET',
  path: '',
  needs: [],
  handle: async (request) => {
    const { texts } = request
    const { t } = texts
    const endpoints = await loadEndpoints(request)
    const [todo, figures, health] = await Promise.all([
      attention(request, endpoints?.filter(isFailing) ?? []),
      today(request),
      approvalsAndHealth(request, endpoints),
    ])
    const body = html`<div class="head"><h1>${t('homeTitle')}</h1></div>
${liveMark(request, 'all')}<section class="card" data-part="attention"><h2>${t('attentionTitle')}</h2>${todo.length === 0 ? html`<p class="dim">${t('attentionNone')}</p>` : html`<ul class="todo">${todo.map((one) => html`<li>${one}</li>`)}</ul>`}</section>
<div data-part="today">${figures}</div><div data-part="health">${health}</div>`
    return { title: t('homeTitle'), body }
  },
}

/** One sentence each, and one link that names where it leads. */
async function attention(
  request: ScreenRequest,
  failing: readonly { uuid: string; url: string }[],
): Promise<Html[]> {
  const { call, allows, texts } = request
  const { t } = texts
  const total = async (operation: OperationId, query = {}) =>
    allows(operation) ? ((await call(operation, { query: { ...query, limit: '1' } })).meta?.total ?? 0) : 0
  const [own, refunds, cases, transfers, disputes, breaks] = await Promise.all([
    ownRequests(request),
    allows('refundRequests.approve') ? total('refundRequests.list', { status: 'awaiting_approval' }) : 0,
    total('cases.list'),
    total('p2pPayments.list', { transferStatus: 'marked_paid' }),
    disputesToAnswer(request),
    total('reconciliationBreaks.list'),
  ])
  const counted = [
    { count: refunds, text: 'attentionRefunds', link: 'requestsTitle', path: REQUESTS_PATH },
    { count: cases, text: 'attentionCases', link: 'casesTitle', path: '/app/cases' },
    { count: transfers, text: 'attentionTransfers', link: 'p2pTitle', path: '/app/p2p' },
    { count: breaks, text: 'attentionBreaks', link: 'opsBreaks', path: '/app/breaks' },
  ] as const
  return [
    ...[disputes, own].filter((one) => one !== null),
    ...counted
      .filter(({ count }) => count > 0)
      .map(({ count, text, link, path }) => html`${t(text, { count })} <a href="${path}">${t(link)}</a>`),
    ...failing.map(
      ({ uuid, url }) =>
        html`${t('attentionEndpoint', { url })} <a href="${ENDPOINTS_PATH}/${uuid}">${t('endpoint')}<span class="visually-hidden"> <bdi dir="ltr">${url}</bdi></span></a>`,
    ),
  ]
}
