// Events, and one event with its JSON and its deliveries.

import type { Static } from 'typebox'
import { ApiError } from '../../../core/errors.ts'
import { EVENT_TYPE_NAMES, EVENT_TYPES } from '../../../core/event-types.ts'
import type { EventRecord } from '../../../events/schema.ts'
import { type Html, html } from '../../../kit/http/html.ts'
import type { EndpointRecord } from '../../../webhook-endpoints/schema.ts'
import { type Choice, codeBlock, empty, facts, notice, problemNotice } from '../../frame/components.ts'
import { NO_FIELDS } from '../../frame/issues.ts'
import { listScreens } from '../../frame/list-screen.ts'
import type { Screen, ScreenRequest } from '../../frame/screen.ts'
import type { Texts } from '../../frame/texts.ts'
import { type Delivery, deliveryCard } from './deliveries.ts'
import { eventName, eventWords } from './event-names.ts'
import { developerTabs, EVENTS_PATH } from './tabs.ts'

export type Event = Static<typeof EventRecord>
type Endpoint = Static<typeof EndpointRecord>

export const eventScreens: Screen[] = [
  ...listScreens<Event>({
    path: '/developers/events',
    title: 'eventsTitle',
    list: 'events.list',
    exports: 'events.export',
    filters: [
      { name: 'type', label: 'eventType', choices: async ({ texts }) => typeChoices(texts) },
      { name: 'resource', label: 'eventResource', type: 'search', isId: true },
    ],
    intro: async (request) => developerTabs(request, EVENTS_PATH),
    columns: (texts) => [
      {
        label: texts.t('event'),
        isTitle: true,
        cell: ({ id, type }) =>
          html`<a class="row" href="${EVENTS_PATH}/${id}">${eventWords(texts, type)}</a><span class="sub"><code>${type}</code></span>`,
      },
      { label: texts.t('eventRecord'), cell: resourceLink },
      { label: texts.t('created'), cell: ({ createdAt }) => texts.time(createdAt) },
    ],
    emptyTitle: 'noEventsTitle',
    emptyText: 'noEventsText',
  }),
  {
    method: 'GET',
    path: '/developers/events/{uuid}',
    needs: ['events.get', 'events.listDeliveries'],
    handle: (request) => show(request),
  },
  { method: 'POST', path: '/developers/events/{uuid}/resend', needs: ['events.replay'], handle: resend },
]

const typeChoices = (texts: Texts): Choice[] =>
  EVENT_TYPE_NAMES.map((value) => ({ value, label: `${eventWords(texts, value)} (${value})` }))

/** As the documentation has it, which is in English. */
const meaningOf = (type: Event['type']) => html`<bdi lang="en" dir="ltr">${EVENT_TYPES[type]}</bdi>`

/** The screens of records that events are about. */
const RESOURCE_PATHS: Partial<Record<Event['resource']['type'], string>> = {
  payment: '/app/payments',
  charge: '/app/payments',
  customer: '/app/customers',
  case: '/app/cases',
  webhook_endpoint: '/app/developers/endpoints',
}

function resourceLink({ resource: { type, uuid } }: Event): Html {
  const path = RESOURCE_PATHS[type]
  const name = html`<code>${uuid}</code>`
  return html`<span>${type.replaceAll('_', ' ')}<span class="sub">${path ? html`<a href="${path}/${uuid}">${name}</a>` : name}</span></span>`
}

async function show(request: ScreenRequest, problem?: ApiError) {
  const { call, texts, query, params } = request
  const { t } = texts
  const input = { params: { uuid: params.uuid ?? '' } }
  const [found, listed, endpoints] = await Promise.all([
    call('events.get', input),
    call('events.listDeliveries', input),
    call('webhookEndpoints.list'),
  ])
  // A boundary: the operations return records of these schemas.
  const event = found.data as Event
  const deliveries = listed.data as Delivery[]
  const enabled = (endpoints.data as Endpoint[]).filter(({ status }) => status === 'enabled')
  const body = html`<div class="head"><h1>${eventName(texts, event.type)}</h1><div class="actions">${resendAll(request, event, enabled)}</div></div>
${developerTabs(request, EVENTS_PATH)}${query.done === 'resend' && notice('good', html`<p>${t('done_resend')}</p>`)}${query.done === 'test' && notice('good', html`<p>${t('done_test')}</p>`)}
${problemNotice(problem, NO_FIELDS)}
<section class="card"><p>${meaningOf(event.type)}</p>${facts([
    [t('created'), texts.time(event.createdAt)],
    [t('eventRecord'), resourceLink(event)],
    [t('eventVersion'), texts.number(event.resource.version)],
    [t('eventId'), html`<code>${event.id}</code>`],
  ])}</section>
<h2>${t('deliveries')}</h2>${deliveries.length === 0 && empty(t('noDeliveriesTitle'), t('noDeliveriesText'))}
${deliveries.map((delivery) => {
  const canSend = enabled.some(({ uuid }) => uuid === delivery.endpoint)
  return deliveryCard(
    request,
    delivery,
    canSend ? resendForm(request, event.id, 'resend', delivery.endpoint) : null,
  )
})}
<h2>${t('eventBody')}</h2>${codeBlock(t('eventBody'), JSON.stringify(event, null, 2))}`
  return { title: eventWords(texts, event.type), body, http: problem ? 422 : 200 }
}

/** As the database has it: a test event goes to the endpoint that was tested. */
function isSubscribed({ uuid, events }: Endpoint, { type, resource }: Event): boolean {
  if (type === 'webhook.test') return uuid === resource.uuid
  return ['*', type, type.replace(/\..*$/, '.*')].some((one) => events.some((name) => name === one))
}

function resendAll(request: ScreenRequest, event: Event, enabled: readonly Endpoint[]): Html | null {
  if (enabled.some((endpoint) => isSubscribed(endpoint, event)))
    return resendForm(request, event.id, 'resendAll')
  const { allows, texts } = request
  if (!allows('events.replay')) return null
  return html`<button class="plain small" disabled aria-describedby="no-subscriber">${texts.t('resendAll')}</button><span class="sub" id="no-subscriber">${texts.t('resendNoSubscriber')}</span>`
}

/** Sends the event again: to one endpoint, or to all that are subscribed. */
export function resendForm(
  { allows, postForm, texts: { t } }: ScreenRequest,
  eventId: string,
  label: 'resend' | 'resendAll',
  endpoint?: string,
): Html | null {
  if (!allows('events.replay')) return null
  return postForm(
    `${EVENTS_PATH}/${eventId}/resend`,
    html`${endpoint && html`<input type="hidden" name="endpoint" value="${endpoint}">`}<button class="plain small">${t(label)}</button>`,
  )
}

async function resend(request: ScreenRequest) {
  const { call, form, params, submission } = request
  const { uuid = '' } = params
  try {
    const body = form.endpoint ? { endpoint: form.endpoint } : {}
    await call('events.replay', { params: { uuid }, body, idempotencyKey: submission })
    return { redirectTo: `${EVENTS_PATH}/${uuid}?done=resend` }
  } catch (error) {
    if (error instanceof ApiError && error.code !== 'event_not_found') return show(request, error)
    throw error
  }
}
