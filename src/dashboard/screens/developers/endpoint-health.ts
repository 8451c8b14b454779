// How an endpoint does: whether it is disabled or fails, and how its latest deliveries went.

import type { Static } from 'typebox'
import type { EndpointHealth } from '../../../deliveries/failures/failure.ts'
import { type Html, html } from '../../../kit/http/html.ts'
import type { EndpointRecord } from '../../../webhook-endpoints/schema.ts'
import { facts } from '../../frame/components.ts'
import type { ScreenRequest } from '../../frame/screen.ts'
import { attemptText } from './failed-deliveries.ts'
import { DELIVERIES_PATH } from './tabs.ts'

export async function healthCard(
  { call, texts }: ScreenRequest,
  endpoint: Static<typeof EndpointRecord>,
): Promise<Html> {
  const { t, time } = texts
  const { uuid, disabled, failingSince } = endpoint
  // A boundary: the operation returns this type.
  const health = (await call('webhookEndpoints.health', { params: { uuid } })).data as EndpointHealth
  const { delivered, failing, dead, isCapped, lastAttempt } = health
  return html`<section class="card"><h2>${t('healthTitle')}</h2>${facts([
    [
      t('endpointDisabled'),
      disabled && html`${time(disabled.at)}<span class="sub">${disabled.message}</span>`,
    ],
    [t('endpointFailing'), failingSince && time(failingSince)],
    [t(isCapped ? 'healthLatest' : 'healthDay'), t('healthCounts', { delivered, failing, dead })],
    [t('lastAttempt'), lastAttempt && attemptText(lastAttempt, texts)],
  ])}<p><a href="${DELIVERIES_PATH}?endpoint=${uuid}">${t('failedDeliveriesTitle')}</a></p></section>`
}
