// The request log, and one request of it: what a developer needs to know about an error, beside the body that the client has.

import { isApiErrorCode } from '../../../core/errors.ts'
import { type Html, html } from '../../../kit/http/html.ts'
import type { RequestRecord } from '../../../request-log/request.ts'
import { empty, facts, written } from '../../frame/components.ts'
import { listScreens } from '../../frame/list-screen.ts'
import type { Screen, ScreenRequest } from '../../frame/screen.ts'
import type { Texts } from '../../frame/texts.ts'
import { developerTabs, KEYS_PATH, REQUESTS_PATH } from './tabs.ts'

export const requestScreens: Screen[] = [
  ...listScreens<RequestRecord>({
    path: '/developers/requests',
    title: 'apiRequestsTitle',
    list: 'requests.list',
    filters: [
      { name: 'outcome', label: 'requestOutcome', values: ['failed'], prefix: 'outcome' },
      { name: 'requestId', label: 'requestId', type: 'search', isId: true },
      { name: 'reference', label: 'requestReference', type: 'search' },
      { name: 'route', label: 'requestRoute', type: 'search' },
      { name: 'keyId', label: 'requestKey', type: 'search' },
      { name: 'createdFrom', label: 'from', type: 'date' },
      { name: 'createdTo', label: 'to', type: 'date' },
    ],
    intro: async (request) =>
      html`${developerTabs(request, REQUESTS_PATH)}<p class="dim">${request.texts.t('apiRequestsIntro')}</p>`,
    columns: (texts) => [
      {
        label: texts.t('request'),
        isTitle: true,
        cell: ({ requestId, method, route }) =>
          html`<a class="row" href="${pathOf(requestId)}"><code>${method} ${route}</code></a><span class="sub">${written(requestId)}</span>`,
      },
      {
        label: texts.t('requestStatus'),
        cell: ({ http, errorCode }) =>
          html`<span>${statusBadge(http)}${errorCode && html`<span class="sub"><code>${errorCode}</code></span>`}</span>`,
      },
      { label: texts.t('requestReference'), cell: ({ reference }) => written(reference) },
      {
        label: texts.t('requestDuration'),
        isNumber: true,
        cell: ({ durationMs }) => texts.t('milliseconds', { count: durationMs }),
      },
      { label: texts.t('created'), cell: ({ createdAt }) => texts.time(createdAt) },
    ],
    emptyTitle: 'apiNoRequestsTitle',
    emptyText: 'apiNoRequestsText',
  }),
  { method: 'GET', path: '/developers/requests/{requestId}', needs: ['requests.list'], handle: show },
]

const pathOf = (requestId: string) => `${REQUESTS_PATH}/${encodeURIComponent(requestId)}`

/** The status by word and shape. 499: the client did not wait for the response. */
function statusBadge(http: number): Html {
  return html`<span class="badge ${http < 400 ? 'good' : 'bad'}">HTTP ${http}</span>`
}

async function load({ call }: ScreenRequest, requestId: string): Promise<RequestRecord[]> {
  // A boundary: the operation returns records of this type.
  return (await call('requests.list', { query: { requestId } })).data as RequestRecord[]
}

/** The address of the request with this id, if the person may see it and it is in the log. */
export async function findRequest(request: ScreenRequest, requestId: string): Promise<string | undefined> {
  if (!request.allows('requests.list')) return undefined
  return (await load(request, requestId)).length > 0 ? pathOf(requestId) : undefined
}

/** Callers may choose the id, and a retry may repeat it: then there are several. */
async function show(request: ScreenRequest) {
  const { params, texts } = request
  const { requestId = '' } = params
  const { t } = texts
  const rows = await load(request, requestId)
  const title = t('apiRequestTitle', { id: requestId })
  const body = html`<div class="head"><h1>${title}</h1></div>${developerTabs(request, REQUESTS_PATH)}
${rows.length === 0 ? empty(t('apiNoRequestsTitle'), t('apiNoRequestText')) : rows.map((row) => card(row, texts))}`
  return { title, body, http: rows.length === 0 ? 404 : 200 }
}

function card(row: RequestRecord, texts: Texts): Html {
  const { method, route, http, errorCode, errorFields, reference, keyId, durationMs, createdAt } = row
  const { t } = texts
  const help =
    errorCode !== null &&
    isApiErrorCode(errorCode) &&
    html`<code>${errorCode}</code> <a href="/docs/errors#${errorCode}">${t('requestErrorHelp')}</a>`
  const search = reference && `/app/payments?${new URLSearchParams({ search: reference })}`
  return html`<section class="card"><div class="head"><h2><code>${method} ${route}</code></h2>${statusBadge(http)}</div>${facts(
    [
      [t('requestError'), help],
      [t('requestFields'), errorFields && html`<code>${written(errorFields)}</code>`],
      [
        t('requestReference'),
        search && html`${written(reference)} <a href="${search}">${t('requestPayment')}</a>`,
      ],
      [
        t('requestKey'),
        html`<a href="${KEYS_PATH}/${keyId}"><code>${keyId}</code></a> <a href="${REQUESTS_PATH}?keyId=${keyId}">${t('requestOthers')}</a>`,
      ],
      [t('requestDuration'), t('milliseconds', { count: durationMs })],
      [t('created'), texts.time(createdAt)],
      [t('requestTime'), html`<code>${createdAt}</code>`],
    ],
  )}</section>`
}
