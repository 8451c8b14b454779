// Webhook endpoints, and one endpoint: change, test, enable, disable.

import type { Static } from 'typebox'
import { ApiError } from '../../../core/errors.ts'
import { type Html, html } from '../../../kit/http/html.ts'
import type { Expected, OperationId } from '../../../kit/http/route.ts'
import type { EndpointRecord } from '../../../webhook-endpoints/schema.ts'
import { badge, facts, notice, problemNotice, written } from '../../frame/components.ts'
import { listScreens } from '../../frame/list-screen.ts'
import type { Screen, ScreenRequest } from '../../frame/screen.ts'
import type { Texts } from '../../frame/texts.ts'
import type { TextId } from '../../locales/en.ts'
import {
  changedFields,
  endpointFields,
  endpointInput,
  endpointLabels,
  endpointVersion,
  requireEvents,
} from './endpoint-form.ts'
import { healthCard } from './endpoint-health.ts'
import { eventName } from './event-names.ts'
import { developerTabs, ENDPOINTS_PATH, EVENTS_PATH } from './tabs.ts'

export type Endpoint = Static<typeof EndpointRecord>

const ONE = '/developers/endpoints/{uuid}'

export const endpointScreens: Screen[] = [
  ...listScreens<Endpoint>({
    path: '/developers/endpoints',
    title: 'endpointsTitle',
    list: 'webhookEndpoints.list',
    isWhole: true,
    filters: [],
    actions: ({ allows, texts: { t } }) =>
      allows('webhookEndpoints.create')
        ? html`<a class="button" href="${ENDPOINTS_PATH}/new">${t('endpointNew')}</a>`
        : null,
    intro: async (request) =>
      html`${developerTabs(request, ENDPOINTS_PATH)}${request.query.done && notice('good', html`<p>${request.texts.t('done_deleted')}</p>`)}`,
    columns: (texts) => [
      {
        label: texts.t('endpoint'),
        isTitle: true,
        cell: ({ uuid, url, description }) =>
          html`<a class="row" href="${ENDPOINTS_PATH}/${uuid}">${written(url)}</a><span class="sub">${written(description)}</span>`,
      },
      { label: texts.t('endpointEvents'), cell: ({ events }) => eventNames(events, texts) },
      {
        label: texts.t('status'),
        cell: (endpoint) => statusBadges(texts, endpoint),
      },
      { label: texts.t('created'), cell: ({ createdAt }) => texts.time(createdAt) },
    ],
    emptyTitle: 'noEndpointsTitle',
    emptyText: 'noEndpointsText',
  }),
  {
    method: 'GET',
    path: ONE,
    needs: ['webhookEndpoints.get', 'webhookEndpoints.health'],
    handle: async (request) => show(request, await loadEndpoint(request)),
  },
  {
    method: 'POST',
    path: ONE,
    needs: ['webhookEndpoints.update'],
    handle: save,
  },
  ...[true, false].map(
    (enabled): Screen => ({
      method: 'POST',
      path: `${ONE}/${enabled ? 'enable' : 'disable'}`,
      needs: ['webhookEndpoints.update'],
      handle: (request) => change(request, { enabled }),
    }),
  ),
  { method: 'POST', path: `${ONE}/test`, needs: ['webhookEndpoints.test'], handle: test },
]

const statusBadges = (texts: Texts, { status, failingSince }: Endpoint) =>
  html`<span>${badge(texts, status)}${failingSince && html` ${badge(texts, 'failing')}`}</span>`

const eventNames = (events: readonly string[], texts: Texts) =>
  html`<span>${events.map((type) => html`<span class="sub">${eventName(texts, type)}</span>`)}</span>`

export async function loadEndpoint({ call, params }: ScreenRequest): Promise<Endpoint> {
  // A boundary: the operation returns a record of this schema.
  return (await call('webhookEndpoints.get', { params: { uuid: params.uuid ?? '' } })).data as Endpoint
}

export function endpointFacts(endpoint: Endpoint, { texts }: ScreenRequest): Html {
  const { t } = texts
  const { description, events, previousSecretUntil, createdAt, uuid } = endpoint
  return facts([
    [t('endpointDescription'), written(description)],
    [t('endpointEvents'), eventNames(events, texts)],
    [t('endpointPreviousSecret'), previousSecretUntil && texts.time(previousSecretUntil)],
    [t('created'), texts.time(createdAt)],
    ['UUID', html`<code>${uuid}</code>`],
  ])
}

interface Refused {
  problem?: ApiError
  /** The fields that have changed since the form was made. */
  changed?: readonly string[]
}

async function show(request: ScreenRequest, endpoint: Endpoint, { problem, changed }: Refused = {}) {
  const { texts, query, allows } = request
  const { t } = texts
  const body = html`<div class="head"><h1>${written(endpoint.url)}</h1>${statusBadges(texts, endpoint)}</div>
${developerTabs(request, ENDPOINTS_PATH)}${query.done && notice('good', html`<p>${t('done_saved')}</p>`)}${changed && notice('bad', html`<p>${t('staleEndpoint', { fields: changed.join(', ') })}</p>`)}${problemNotice(problem, endpointLabels(texts))}
<div class="split"><div><section class="card">${endpointFacts(endpoint, request)}</section>${allows('webhookEndpoints.update') && editForm(request, endpoint, problem)}</div>
<div>${await healthCard(request, endpoint)}${actions(request, endpoint)}</div></div>`
  return { title: endpoint.url, body, http: changed ? 409 : problem ? 422 : 200 }
}

function editForm({ texts, form, postForm }: ScreenRequest, endpoint: Endpoint, problem?: ApiError): Html {
  const { t } = texts
  const input = problem && 'url' in form ? endpointInput(form) : endpoint
  const fields = html`<input type="hidden" name="version" value="${endpointVersion(endpoint)}">${endpointFields(texts, input, problem)}<button>${t('endpointSave')}</button>`
  return html`<section class="card"><h2>${t('endpointEdit')}</h2>${postForm(`${ENDPOINTS_PATH}/${endpoint.uuid}`, fields)}</section>`
}

/** What can be done beside changing it. What cannot be undone is asked on a page of its own. */
function actions({ allows, postForm, texts: { t } }: ScreenRequest, { uuid, status }: Endpoint): Html | null {
  const path = `${ENDPOINTS_PATH}/${uuid}`
  const isEnabled = status === 'enabled'
  const button = (operation: OperationId, action: string, label: TextId, hint?: TextId) =>
    allows(operation) &&
    postForm(
      `${path}/${action}`,
      html`${hint && html`<p class="hint">${t(hint)}</p>`}<button class="plain">${t(label)}</button>`,
    )
  const link = (operation: OperationId, action: string, label: TextId) =>
    allows(operation) && html`<p><a class="button plain" href="${path}/${action}">${t(label)}</a></p>`
  if (!allows('webhookEndpoints.update')) return null
  return html`<section class="card">${isEnabled && button('webhookEndpoints.test', 'test', 'endpointTest')}
${isEnabled && link('events.replayPeriod', 'replay', 'replayTitle')}
${link('webhookEndpoints.rotateSecret', 'secret', 'secretRotate')}
${isEnabled ? button('webhookEndpoints.update', 'disable', 'endpointDisable', 'endpointDisableText') : button('webhookEndpoints.update', 'enable', 'endpointEnable')}
${link('webhookEndpoints.delete', 'delete', 'endpointDelete')}</section>`
}

async function save(request: ScreenRequest) {
  const endpoint = await loadEndpoint(request)
  const changed = changedFields(request.form, endpoint, request.texts)
  if (changed.length > 0) return show(request, endpoint, { changed })
  const { url, description, events } = endpoint
  const check = (body: { events: readonly string[] }) => requireEvents(request.texts, body)
  return change(request, endpointInput(request.form), { check, expected: { url, description, events } })
}

async function change<Body extends Record<string, unknown>>(
  request: ScreenRequest,
  body: Body,
  { check, expected }: { check?: (body: Body) => void; expected?: Expected } = {},
) {
  const { call, params, submission } = request
  const { uuid = '' } = params
  const endpoint = await loadEndpoint(request)
  const saved = { redirectTo: `${ENDPOINTS_PATH}/${uuid}?done=saved` }
  try {
    check?.(body)
    await call('webhookEndpoints.update', {
      ...{ params: { uuid }, body, idempotencyKey: submission },
      ...(expected && { expected }),
    })
    return saved
  } catch (error) {
    if (!(error instanceof ApiError)) throw error
    if (expected && error.code === 'invalid_state') return (await showChanged(request)) ?? saved
    return show(request, endpoint, { problem: error })
  }
}

/** Another person has saved after this request has read the endpoint; undefined if they have saved the same. */
async function showChanged(request: ScreenRequest) {
  const endpoint = await loadEndpoint(request)
  const changed = changedFields(request.form, endpoint, request.texts)
  return changed.length > 0 ? show(request, endpoint, { changed }) : undefined
}

async function test(request: ScreenRequest) {
  const { call, params, submission } = request
  const endpoint = await loadEndpoint(request)
  try {
    const input = { params: { uuid: params.uuid ?? '' }, idempotencyKey: submission }
    // A boundary: the operation returns an event.
    const { id } = (await call('webhookEndpoints.test', input)).data as { id: string }
    return { redirectTo: `${EVENTS_PATH}/${id}?done=test` }
  } catch (error) {
    if (error instanceof ApiError) return show(request, endpoint, { problem: error })
    throw error
  }
}
