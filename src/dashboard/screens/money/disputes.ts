// Disputes: the payer's bank claims the money of a payment back. The nearest deadline comes first.

import type { Static } from 'typebox'
import type { DisputeRecord } from '../../../disputes/schema.ts'
import { type Html, html } from '../../../kit/http/html.ts'
import { badge, notice, written } from '../../frame/components.ts'
import { listScreens } from '../../frame/list-screen.ts'
import type { ScreenRequest } from '../../frame/screen.ts'
import type { Texts } from '../../frame/texts.ts'
import { PAYMENTS_PATH } from '../payments.ts'

type Dispute = Static<typeof DisputeRecord>

export const disputeScreens = listScreens<Dispute>({
  path: '/disputes',
  title: 'disputesTitle',
  list: 'disputes.list',
  exports: 'disputes.export',
  filters: [
    { name: 'status', label: 'status', values: ['open', 'won', 'lost'], prefix: 'status', initial: 'open' },
    { name: 'createdFrom', label: 'from', type: 'date' },
    { name: 'createdTo', label: 'to', type: 'date' },
  ],
  intro: async ({ texts: { t } }) => notice('neutral', html`<p>${t('disputesText')}</p>`),
  columns: (texts, { now }) => [
    {
      label: texts.t('payment'),
      isTitle: true,
      cell: ({ paymentUuid, paymentReference, paymentGateway }) =>
        html`<a class="row" href="${PAYMENTS_PATH}/${paymentUuid}">${written(paymentReference)}</a><span class="sub">${paymentGateway}</span>`,
    },
    {
      label: texts.t('disputeClaimed'),
      isNumber: true,
      cell: ({ amount, currency }) => texts.amount(amount, currency),
    },
    { label: texts.t('status'), isBeside: true, cell: ({ status }) => badge(texts, status) },
    { label: texts.t('respondBy'), cell: (dispute) => deadline(dispute, now, texts) },
    {
      label: texts.t('disputeHeld'),
      isNumber: true,
      cell: ({ heldAmount, currency }) => texts.amount(heldAmount, currency),
    },
    {
      label: texts.t('gatewayReference'),
      cell: ({ gatewayReference }) => html`<code>${written(gatewayReference)}</code>`,
    },
    { label: texts.t('created'), cell: ({ openedAt }) => texts.time(openedAt) },
  ],
  emptyTitle: 'noDisputesTitle',
  emptyText: 'noDisputesText',
})

function deadline({ status, respondBy }: Dispute, now: Date, texts: Texts): Html | string {
  if (status !== 'open') return ''
  if (respondBy === null) return texts.t('respondByUnknown')
  const passed = isPassed(respondBy, now) && html`<span class="sub">${texts.t('respondByPassed')}</span>`
  return html`<b>${texts.time(respondBy)}</b>${passed}`
}

const isPassed = (respondBy: string, now: Date) => new Date(respondBy) < now

/** How many disputes are open, and the nearest deadline among them. */
export async function disputesToAnswer({ call, allows, texts, now }: ScreenRequest): Promise<Html | null> {
  if (!allows('disputes.list')) return null
  const { data, meta } = await call('disputes.list', { query: { status: 'open', limit: '1' } })
  const count = meta?.total ?? 0
  if (count === 0) return null
  // A boundary: the operation returns records of its schema.
  const [nearest] = data as Dispute[]
  const { t } = texts
  const next = nearest?.respondBy
  const first =
    next && (isPassed(next, now) ? t('attentionPassed') : html`${t('respondBy')} ${texts.time(next)}.`)
  return html`${t('attentionDisputes', { count })} ${first} <a href="/app/disputes">${t('disputesTitle')}</a>`
}
