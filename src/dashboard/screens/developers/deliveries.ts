// The delivery of an event to one endpoint, with the status, response and time of each attempt.

import type { Static } from 'typebox'
import type { DeliveryRecord } from '../../../deliveries/schema.ts'
import { type Html, html } from '../../../kit/http/html.ts'
import { badge, facts, table, written } from '../../frame/components.ts'
import type { ScreenRequest } from '../../frame/screen.ts'
import type { Texts } from '../../frame/texts.ts'
import { ENDPOINTS_PATH } from './tabs.ts'

export type Delivery = Static<typeof DeliveryRecord>
type Attempt = Delivery['attempts'][number]

export function deliveryCard({ texts }: ScreenRequest, delivery: Delivery, action: Html | null): Html {
  const { t } = texts
  const { endpoint, url, status, message, nextAttemptAt, deliveredAt, attempts } = delivery
  return html`<section class="card"><div class="head"><h3><a href="${ENDPOINTS_PATH}/${endpoint}">${written(url)}</a></h3>${badge(texts, isFailing(delivery) ? 'failing' : status)}<div class="actions">${action}</div></div>
${facts([
  [t('reason'), message],
  [t('deliveredAt'), deliveredAt && texts.time(deliveredAt)],
  [t('nextAttempt'), nextAttemptAt && texts.time(nextAttemptAt)],
])}${attempts.length === 0 ? html`<p class="dim">${t('noAttempts')}</p>` : attemptTable(attempts, texts)}</section>`
}

/** As the list of failed deliveries has it: it waits for the next attempt after a failed one. */
const isFailing = ({ status, attempts }: Delivery) => status === 'pending' && attempts.length > 0

function attemptTable(attempts: readonly Attempt[], texts: Texts): Html {
  const { t } = texts
  return table(
    t('attempts'),
    [
      { label: t('started'), isTitle: true, cell: ({ at }) => texts.time(at) },
      { label: t('response'), cell: (attempt) => responseBadge(attempt) },
      {
        label: t('duration'),
        isNumber: true,
        cell: ({ durationMs }) => t('milliseconds', { count: durationMs }),
      },
      { label: t('responseBody'), cell: ({ responseBody }) => html`<code>${written(responseBody)}</code>` },
    ],
    attempts.toReversed(),
  )
}

/** The status by word and shape: every status but a 2xx is a failed attempt. */
export function responseBadge({ http, error }: Pick<Attempt, 'http' | 'error'>): Html {
  const isAccepted = http !== null && http >= 200 && http < 300
  return html`<span class="badge ${isAccepted ? 'good' : 'bad'}">${http === null ? written(error) : `HTTP ${http}`}</span>`
}
