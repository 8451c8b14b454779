// The lower part of home: how many attempts the gateways approve, and the health of gateways and webhooks, in a sentence each.

import type { Static } from 'typebox'
import { type Html, html } from '../../kit/http/html.ts'
import type { EndpointRecord } from '../../webhook-endpoints/schema.ts'
import { table } from '../frame/components.ts'
import type { ScreenRequest } from '../frame/screen.ts'
import type { Texts } from '../frame/texts.ts'

type Endpoint = Static<typeof EndpointRecord>

interface Gateway {
  name: string
  title: string
  health: string
}

interface Approval {
  currency: string
  gateway: string
  approved: number
  decided: number
}

export async function loadEndpoints({ call, allows }: ScreenRequest): Promise<Endpoint[] | null> {
  if (!allows('webhookEndpoints.list')) return null
  // A boundary: the operation returns records of this schema.
  return (await call('webhookEndpoints.list')).data as Endpoint[]
}

export const isFailing = ({ failingSince, status }: Endpoint) => failingSince !== null || status !== 'enabled'

export async function approvalsAndHealth(
  { call, allows, texts }: ScreenRequest,
  endpoints: readonly Endpoint[] | null,
): Promise<Html> {
  // Boundaries: the operations return records of their schemas.
  const [gateways, approvals] = await Promise.all([
    allows('gateways.list') ? ((await call('gateways.list')).data as Gateway[]) : [],
    allows('reports.approvalRates') ? ((await call('reports.approvalRates')).data as Approval[]) : [],
  ])
  const sentences = [
    gateways.length > 0 && gatewaySentence(gateways, texts),
    endpoints !== null && endpoints.length > 0 && webhookSentence(endpoints, texts),
  ].filter((sentence) => sentence !== false)
  return html`${approvals.length > 0 && approvalTable(approvals, gateways, texts)}${
    sentences.length > 0 &&
    html`<section class="card"><h2>${texts.t('healthTitle')}</h2><ul class="todo">${sentences.map((sentence) => html`<li>${sentence}</li>`)}</ul></section>`
  }`
}

function gatewaySentence(gateways: readonly Gateway[], { t }: Texts): string {
  const down = gateways.filter(({ health }) => health !== 'up').map(({ title }) => title)
  return down.length === 0
    ? t('gatewaysUp', { count: gateways.length })
    : t('gatewaysDown', { count: down.length, names: down.join(', ') })
}

function webhookSentence(endpoints: readonly Endpoint[], { t }: Texts): Html {
  const failing = endpoints.filter(isFailing).length
  const sentence =
    failing === 0
      ? t('webhooksUp', { count: endpoints.length })
      : t('webhooksDown', { count: failing, total: endpoints.length })
  return html`${sentence} <a href="/app/developers/endpoints">${t('endpointsTitle')}</a>`
}

function approvalTable(approvals: readonly Approval[], gateways: readonly Gateway[], texts: Texts): Html {
  const { t, ratio, percent } = texts
  const titleOf = (name: string) => gateways.find((gateway) => gateway.name === name)?.title ?? name
  return html`<h2>${t('approvalTitle')}</h2><p class="dim">${t('approvalText')}</p>${table(
    t('approvalTitle'),
    [
      { label: t('gateway'), isTitle: true, cell: ({ gateway }) => titleOf(gateway) },
      { label: t('currency'), cell: ({ currency }) => currency },
      {
        label: t('approvalRate'),
        isNumber: true,
        cell: ({ approved, decided }) =>
          html`${percent(approved / decided)}<span class="sub">${ratio(approved, decided)}</span>`,
      },
    ],
    approvals,
  )}`
}
