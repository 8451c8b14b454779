// Deliveries that an endpoint has not accepted, each with its last response and its event, which can be sent again.

import type { Static } from 'typebox'
import type { FailedDelivery, LastAttempt } from '../../../deliveries/failures/failure.ts'
import { type Html, html } from '../../../kit/http/html.ts'
import type { EndpointRecord } from '../../../webhook-endpoints/schema.ts'
import { badge, type Choice, written } from '../../frame/components.ts'
import { listScreens } from '../../frame/list-screen.ts'
import type { AreaRequest, Screen } from '../../frame/screen.ts'
import type { Texts } from '../../frame/texts.ts'
import { responseBadge } from './deliveries.ts'
import { eventWords } from './event-names.ts'
import { DELIVERIES_PATH, developerTabs, ENDPOINTS_PATH, EVENTS_PATH } from './tabs.ts'

export const failedDeliveryScreens: Screen[] = listScreens<FailedDelivery>({
  path: '/developers/deliveries',
  title: 'failedDeliveriesTitle',
  list: 'deliveries.listFailed',
  filters: [
    { name: 'endpoint', label: 'endpoint', choices: endpointChoices },
    { name: 'status', label: 'status', values: ['failing', 'dead'], prefix: 'status' },
  ],
  intro: async (request) => developerTabs(request, DELIVERIES_PATH),
  columns: (texts) => [
    {
      label: texts.t('event'),
      isTitle: true,
      cell: ({ event, type, endpoint, url }) =>
        html`<a class="row" href="${EVENTS_PATH}/${event}">${eventWords(texts, type)}</a><span class="sub"><code>${type}</code></span><span class="sub"><a href="${ENDPOINTS_PATH}/${endpoint}">${written(url)}</a></span>`,
    },
    {
      label: texts.t('status'),
      cell: ({ status, message }) =>
        html`<span>${badge(texts, status)}${message && html`<span class="sub">${message}</span>`}</span>`,
    },
    {
      label: texts.t('lastAttempt'),
      cell: ({ lastAttempt }) => lastAttempt && attemptText(lastAttempt, texts),
    },
    { label: texts.t('attempts'), isNumber: true, cell: ({ attempts }) => texts.number(attempts) },
    { label: texts.t('nextAttempt'), cell: ({ nextAttemptAt }) => texts.time(nextAttemptAt) },
    { label: texts.t('created'), cell: ({ createdAt }) => texts.time(createdAt) },
  ],
  emptyTitle: 'noFailedDeliveriesTitle',
  emptyText: 'noFailedDeliveriesText',
})

async function endpointChoices({ call }: AreaRequest): Promise<Choice[]> {
  // A boundary: the operation returns records of this schema.
  const endpoints = (await call('webhookEndpoints.list')).data as Static<typeof EndpointRecord>[]
  return endpoints.map(({ uuid, url }) => ({ value: uuid, label: url }))
}

/** The response, how long it took, and when. */
export function attemptText(attempt: LastAttempt, { t, time }: Texts): Html {
  return html`<span>${responseBadge(attempt)} ${t('milliseconds', { count: attempt.durationMs })}<span class="sub">${time(attempt.at)}</span></span>`
}
