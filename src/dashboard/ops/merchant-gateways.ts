// A merchant's own accounts at gateways. Credentials are written, and never shown.

import { requireFound } from '../../core/errors.ts'
import { type Html, html } from '../../kit/http/html.ts'
import { badge, facts, field, notice, table } from '../frame/components.ts'
import { orShowProblem } from '../frame/form-input.ts'
import type { AreaRequest, Screen } from '../frame/screen.ts'
import { dataOf } from './data.ts'
import type { Gateway, GatewayField, MerchantGateway } from './gateway-records.ts'
import { MERCHANTS_PATH } from './merchants.ts'

const PATH = '/merchants/{uuid}/gateways/{gateway}'

const merchantPath = ({ params: { uuid = '' } }: AreaRequest) => `${MERCHANTS_PATH}/${uuid}`
const accountPath = (request: AreaRequest) =>
  `${merchantPath(request)}/gateways/${request.params.gateway ?? ''}`

export const merchantGatewayScreens: Screen<AreaRequest>[] = [
  {
    method: 'GET',
    path: PATH,
    needs: ['gatewayAccounts.list'],
    stepUp: true,
    handle: (request) => showAccount(request),
  },
  {
    method: 'POST',
    path: PATH,
    needs: ['gatewayAccounts.save'],
    stepUp: true,
    secretsAt: accountPath,
    handle: saveAccount,
  },
  {
    method: 'POST',
    path: `${PATH}/revoke`,
    needs: ['gatewayAccounts.revoke'],
    stepUp: true,
    handle: revokeAccount,
  },
]

export async function gatewaySection(request: AreaRequest, uuid: string): Promise<Html> {
  const { texts } = request
  const { t } = texts
  const gateways = await dataOf<MerchantGateway[]>(request, 'gatewayAccounts.list', { params: { uuid } })
  return html`<h2>${t('gatewaysTitle')}</h2>${table(
    t('gatewaysTitle'),
    [
      {
        label: t('gateway'),
        isTitle: true,
        cell: ({ gateway, title }) =>
          html`<a href="${MERCHANTS_PATH}/${uuid}/gateways/${gateway}">${title}</a>`,
      },
      { label: t('opsServedBy'), cell: ({ servedBy }) => texts.word('opsServed', servedBy ?? 'none') },
    ],
    gateways,
  )}`
}

async function showAccount(request: AreaRequest, result?: { body: Html; http: number }) {
  const {
    texts,
    params: { uuid = '', gateway = '' },
    query,
  } = request
  const { t } = texts
  const [own, all] = await Promise.all([
    dataOf<MerchantGateway[]>(request, 'gatewayAccounts.list', { params: { uuid } }),
    dataOf<Gateway[]>(request, 'gateways.list'),
  ])
  const account = own.find((one) => one.gateway === gateway)?.account ?? null
  const definition = requireFound(
    all.find((one) => one.gateway === gateway),
    'gateway_not_found',
  )
  const title = own.find((one) => one.gateway === gateway)?.title ?? gateway
  const body = html`<div class="head"><h1>${title}</h1>${account && badge(texts, account.status)}</div>
${query.done === 'saved' && notice('good', html`<p>${t('done_saved')}</p>`)}${result?.body}
<div class="split"><div>${account && accountFacts(request, account)}</div>
<div>${accountForm(request, [...definition.credentials, ...definition.limits])}${account && revokeForm(request)}</div></div>
<p><a class="button plain" href="${merchantPath(request)}">${t('back')}</a></p>`
  return { title, body, http: result?.http ?? 200 }
}

function accountFacts({ texts }: AreaRequest, account: NonNullable<MerchantGateway['account']>): Html {
  const { t } = texts
  const { credentials, webhookUrl, updatedAt } = account
  return html`<section class="card">${facts([
    ...credentials.map(
      ({ name, isSet, ending }) =>
        [name, isSet ? (ending === null ? t('opsSet') : `…${ending}`) : t('opsNotSet')] as const,
    ),
    [t('opsWebhookUrl'), html`<code>${webhookUrl}</code>`],
    [t('opsChanged'), texts.time(updatedAt)],
  ])}</section>`
}

function accountForm(request: AreaRequest, names: readonly GatewayField[]): Html {
  const {
    texts: { t },
    postForm,
  } = request
  const fields = html`<p>${t('opsCredentialsText')}</p>${names.map(credentialField)}
<label class="tick"><input type="checkbox" name="unchecked" value="yes"> <span>${t('opsUnchecked')}</span></label><button>${t('opsSave')}</button>`
  return html`<section class="card"><h2>${t('opsCredentials')}</h2>${postForm(accountPath(request), fields)}</section>`
}

/** What was typed is not shown again, so no field has a value. A key in PEM has lines. */
function credentialField({ name, meaning, isRequired }: GatewayField): Html {
  const id = `c-${name}`
  if (!/PEM/.test(meaning))
    return field(id, name, { type: 'password', hint: meaning, isRequired, autocomplete: 'new-password' })
  return html`<div class="field"><label for="${id}">${name}</label><textarea id="${id}" name="${id}" aria-describedby="${id}-hint"${isRequired && html` required`}></textarea><p class="hint" id="${id}-hint">${meaning}</p></div>`
}

function saveAccount(request: AreaRequest) {
  const {
    params: { uuid = '', gateway = '' },
    form,
  } = request
  const given = Object.entries(form).filter(([name, value]) => name.startsWith('c-') && value !== '')
  const credentials = Object.fromEntries(given.map(([name, value]) => [name.slice(2), value]))
  return orShowProblem(
    async () => {
      const query = { probe: form.unchecked === undefined ? 'true' : 'false' }
      const input = { params: { uuid, gateway }, query, body: { credentials } }
      const { probe, warnings } = await dataOf<{ probe: string; warnings: string[] }>(
        request,
        'gatewayAccounts.save',
        input,
      )
      const body = notice(
        probe === 'works' ? 'good' : 'wait',
        html`<p>${request.texts.word('opsProbe', probe)}</p>${warnings.map((warning) => html`<p>${warning}</p>`)}`,
      )
      return showAccount(request, { body, http: 200 })
    },
    (problem) => showAccount(request, { body: notice('bad', html`<p>${problem.message}</p>`), http: 422 }),
  )
}

function revokeForm(request: AreaRequest): Html {
  const {
    texts: { t },
    postForm,
  } = request
  return html`<section class="card"><details><summary>${t('opsRemoveAccount')}</summary><p>${t('opsRemoveAccountText')}</p>
${postForm(`${accountPath(request)}/revoke`, html`<button class="danger">${t('opsRemoveAccount')}</button>`)}</details></section>`
}

async function revokeAccount(request: AreaRequest) {
  const {
    params: { uuid = '', gateway = '' },
    call,
  } = request
  await call('gatewayAccounts.revoke', { params: { uuid, gateway } })
  return { redirectTo: `${merchantPath(request)}?done=saved` }
}
