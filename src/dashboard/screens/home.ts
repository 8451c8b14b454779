// Home: what needs attention first, then today against the same day of last week, by currency.

import type { Static } from 'typebox'
import { type Html, html } from '../../kit/http/html.ts'
import type { EndpointRecord } from '../../webhook-endpoints/schema.ts'
import { facts, table } from '../frame/components.ts'
import type { Screen, ScreenRequest } from '../frame/screen.ts'

type Endpoint = Static<typeof EndpointRecord>

interface Collected {
  day: string
  currency: string
  payments: number
  paidPayments: number
  amountPaid: string
}

interface GatewayHealth {
  title: string
  health: { status: string }
}

const DAY_MS = 86_400_000

export const homeScreen: Screen = {
  method: 'GET',
  path: '',
  needs: [],
  handle: async (request) => {
    const { texts } = request
    const { t } = texts
    const [todo, figures, gateways] = await Promise.all([attention(request), today(request), health(request)])
    const body = html`<div class="head"><h1>${t('homeTitle')}</h1></div>
<section class="card"><h2>${t('attentionTitle')}</h2>${todo.length === 0 ? html`<p class="dim">${t('attentionNone')}</p>` : html`<ul class="todo">${todo.map((one) => html`<li>${one}</li>`)}</ul>`}</section>
${figures}${gateways}`
    return { title: t('homeTitle'), body }
  },
}

/** One sentence and one link each. */
async function attention({ call, allows, texts }: ScreenRequest): Promise<Html[]> {
  const { t } = texts
  const [cases, endpoints] = await Promise.all([
    allows('cases.list') ? call('cases.list', { query: { limit: '1' } }) : null,
    allows('webhookEndpoints.list') ? call('webhookEndpoints.list') : null,
  ])
  // A boundary: the operation returns records of this schema.
  const failing = ((endpoints?.data ?? []) as Endpoint[]).filter(
    ({ failingSince, status }) => failingSince !== null || status !== 'enabled',
  )
  const open = cases?.meta?.total ?? 0
  return [
    ...(open > 0
      ? [html`${t('attentionCases', { count: open })} <a href="/app/cases">${t('look')}</a>`]
      : []),
    ...failing.map(
      ({ url }) =>
        html`${t('attentionEndpoint', { url })} <a href="/app/developers/endpoints">${t('look')}</a>`,
    ),
  ]
}

async function today({ call, allows, texts, now }: ScreenRequest): Promise<Html | null> {
  if (!allows('reports.collections')) return null
  const { t } = texts
  const dayOf = (daysAgo: number) => new Date(now.getTime() - daysAgo * DAY_MS).toISOString().slice(0, 10)
  const query = { from: dayOf(7), to: dayOf(0), groupBy: 'day,currency' }
  // A boundary: the operation returns records of its schema.
  const rows = (await call('reports.collections', { query })).data as Collected[]
  const [current, earlier] = [dayOf(0), dayOf(7)]
  const currencies = [...new Set(rows.map(({ currency }) => currency))]
  const on = (day: string, currency: string) =>
    rows.find((row) => row.day === day && row.currency === currency)
  if (currencies.length === 0)
    return html`<section class="card"><h2>${t('todayTitle')}</h2><p class="dim">${t('todayNone')}</p></section>`
  return html`<h2>${t('todayTitle')}</h2>${table(
    t('todayTitle'),
    [
      { label: t('currency'), isTitle: true, cell: (currency) => currency },
      {
        label: t('collectedToday'),
        isNumber: true,
        cell: (currency) => texts.amount(on(current, currency)?.amountPaid ?? '0', currency),
      },
      {
        label: t('collectedBefore'),
        isNumber: true,
        cell: (currency) => texts.amount(on(earlier, currency)?.amountPaid ?? '0', currency),
      },
      { label: t('paidOf'), isNumber: true, cell: (currency) => rateOf(on(current, currency), texts) },
    ],
    currencies,
  )}`
}

function rateOf(row: Collected | undefined, texts: ScreenRequest['texts']): string {
  if (!row || row.payments === 0) return ''
  return `${texts.number(row.paidPayments)} / ${texts.number(row.payments)} (${texts.percent(row.paidPayments / row.payments)})`
}

async function health({ call, allows, texts }: ScreenRequest): Promise<Html | null> {
  if (!allows('gateways.list')) return null
  // A boundary: the operation returns records of its schema.
  const gateways = (await call('gateways.list')).data as GatewayHealth[]
  return html`<section class="card"><h2>${texts.t('gatewaysTitle')}</h2>${facts(gateways.map(({ title, health: { status } }) => [title, texts.word('health', status)]))}</section>`
}
