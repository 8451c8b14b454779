// The gateways of the instance, and the checks that ask the providers.

import { type Html, html } from '../../kit/http/html.ts'
import { badge, table } from '../frame/components.ts'
import type { AreaRequest, Screen } from '../frame/screen.ts'
import { dataOf } from './data.ts'
import type { Gateway, GatewayField } from './gateway-records.ts'

interface Check {
  gateway: string | null
  name: string
  result: string
  detail: string
}

const CHECKS_PATH = '/ops/gateways/checks'

export const gatewayScreens: Screen<AreaRequest>[] = [
  { method: 'GET', path: '/gateways', needs: ['gateways.list'], handle: showGateways },
  // By a link of its own: it asks every provider, so it takes as long as they do.
  { method: 'GET', path: '/gateways/checks', needs: ['gateways.check'], handle: showChecks },
]

async function showGateways(request: AreaRequest) {
  const { texts } = request
  const { t } = texts
  const gateways = await dataOf<Gateway[]>(request, 'gateways.list')
  const title = t('gatewaysTitle')
  const body = html`<div class="head"><h1>${title}</h1><div class="actions"><a class="button" href="${CHECKS_PATH}">${t('opsCheckNow')}</a></div></div>
${table(
  title,
  [
    { label: t('gateway'), isTitle: true, cell: ({ title: name }) => name },
    {
      label: t('status'),
      cell: ({ isConfigured }) => badge(texts, isConfigured ? 'configured' : 'not_configured'),
    },
    { label: t('opsProviderUrl'), cell: ({ baseUrl }) => html`<code>${baseUrl}</code>` },
    { label: t('opsWebhookUrl'), cell: ({ webhookUrl }) => html`<code>${webhookUrl}</code>` },
    { label: t('opsCredentials'), cell: ({ credentials }) => variables(credentials) },
  ],
  gateways,
)}`
  return { title, body }
}

function variables(fields: readonly GatewayField[]): Html {
  const names = fields.map(
    ({ variable, meaning }) => html`<li><code>${variable}</code><span class="sub">${meaning}</span></li>`,
  )
  return html`<details><summary>${fields.length}</summary><ul>${names}</ul></details>`
}

async function showChecks(request: AreaRequest) {
  const { texts } = request
  const { t } = texts
  const checks = await dataOf<Check[]>(request, 'gateways.check')
  const title = t('opsChecksTitle')
  const body = html`<div class="head"><h1>${title}</h1><div class="actions"><a class="button plain" href="/ops/gateways">${t('back')}</a></div></div>
${table(
  title,
  [
    { label: t('opsCheck'), isTitle: true, cell: ({ gateway, name }) => `${gateway ?? t('all')}: ${name}` },
    { label: t('opsResult'), isBeside: true, cell: ({ result }) => badge(texts, result) },
    { label: t('opsDetail'), cell: ({ detail }) => detail },
  ],
  checks,
)}`
  return { title, body }
}
