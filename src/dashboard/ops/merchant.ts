// One merchant: its settings, API keys, gateways, the invitation of an owner, and its suspension.

import type { ApiError } from '../../core/errors.ts'
import { type Html, html } from '../../kit/http/html.ts'
import { badge, facts, field, notice, written } from '../frame/components.ts'
import { orShowProblem } from '../frame/form-input.ts'
import type { AreaRequest, Screen } from '../frame/screen.ts'
import { dataOf } from './data.ts'
import { gatewaySection } from './merchant-gateways.ts'
import { keySection } from './merchant-keys.ts'
import { MERCHANTS_PATH, type Merchant } from './merchants.ts'

export const merchantScreens: Screen<AreaRequest>[] = [
  {
    method: 'GET',
    path: '/merchants/{uuid}',
    needs: ['merchants.get'],
    handle: (request) => showMerchant(request),
  },
  { method: 'POST', path: '/merchants/{uuid}/settings', needs: ['merchants.update'], handle: saveSettings },
  {
    method: 'POST',
    path: '/merchants/{uuid}/suspend',
    needs: ['merchants.suspend'],
    stepUp: true,
    handle: (request) => changeStatus(request, 'merchants.suspend'),
  },
  {
    method: 'POST',
    path: '/merchants/{uuid}/activate',
    needs: ['merchants.activate'],
    handle: (request) => changeStatus(request, 'merchants.activate'),
  },
  {
    method: 'POST',
    path: '/merchants/{uuid}/invite',
    needs: ['ownerInvitations.create'],
    stepUp: true,
    once: (request) => addressOf(request),
    handle: inviteOwner,
  },
]

const addressOf = ({ params: { uuid = '' } }: AreaRequest) => `${MERCHANTS_PATH}/${uuid}`
const paramsOf = ({ params: { uuid = '' } }: AreaRequest) => ({ uuid })

/** `result` stands above the rest: what was refused, or a secret that is shown once. */
async function showMerchant(request: AreaRequest, result?: { body: Html; http: number }) {
  const { texts, query } = request
  const { t } = texts
  const merchant = await dataOf<Merchant>(request, 'merchants.get', { params: paramsOf(request) })
  const [keys, gateways] = await Promise.all([
    keySection(request, merchant.uuid),
    gatewaySection(request, merchant.uuid),
  ])
  const body = html`<div class="head"><h1>${written(merchant.name)}</h1>${badge(texts, merchant.status)}</div>
${query.done === 'saved' && notice('good', html`<p>${t('done_saved')}</p>`)}${result?.body}
<div class="split"><div>${keys}${gateways}</div>
<div>${summary(merchant, request)}${settingsForm(request, merchant)}${inviteForm(request)}${statusForm(request, merchant)}</div></div>`
  return { title: merchant.name, body, http: result?.http ?? 200 }
}

const refused = (request: AreaRequest) => (problem: ApiError) =>
  showMerchant(request, { body: notice('bad', html`<p>${problem.message}</p>`), http: 422 })

function summary(
  { uuid, mode, cell, createdAt, updatedAt, settings }: Merchant,
  { texts }: AreaRequest,
): Html {
  const { t } = texts
  return html`<section class="card">${facts([
    ['UUID', html`<code>${uuid}</code>`],
    [t('opsMode'), texts.word('mode', mode)],
    [t('opsCell'), cell !== undefined && html`<code>${cell}</code>`],
    [t('created'), texts.time(createdAt)],
    [t('opsChanged'), texts.time(updatedAt)],
    [t('opsRouting'), settings.routing.length > 0 && html`<code>${JSON.stringify(settings.routing)}</code>`],
    [
      t('opsApprovals'),
      settings.caseApprovals.length > 0 &&
        settings.caseApprovals.map(({ currency, from }) => `${currency} ${texts.number(from)}`).join(', '),
    ],
    [t('opsOrigins'), settings.redirectOrigins.join(', ')],
  ])}</section>`
}

const SETTINGS = ['timeZone', 'locale', 'country'] as const
const BRANDING = ['displayName', 'supportEmail', 'supportPhone', 'supportUrl', 'accentColor'] as const

function settingsForm(request: AreaRequest, { name, baseCurrency, settings }: Merchant): Html {
  const { texts, form, postForm } = request
  const { t } = texts
  const input = (id: string, value: string | null, isRequired = false) =>
    field(id, texts.word('opsSetting', id), { value: form[id] ?? value ?? '', isRequired })
  const fields = html`${input('name', name, true)}${input('baseCurrency', baseCurrency, true)}
${SETTINGS.map((id) => input(id, settings[id]))}${BRANDING.map((id) => input(id, settings.branding[id]))}<button>${t('opsSave')}</button>`
  return html`<section class="card"><h2>${t('opsSettings')}</h2>${postForm(`${addressOf(request)}/settings`, fields)}</section>`
}

function saveSettings(request: AreaRequest) {
  const { name, baseCurrency } = request.form
  const valuesOf = (ids: readonly string[]) =>
    Object.fromEntries(ids.map((id) => [id, request.form[id]?.trim() || null]))
  const settings = { ...valuesOf(SETTINGS), branding: valuesOf(BRANDING) }
  return orShowProblem(async () => {
    await request.call('merchants.update', {
      params: paramsOf(request),
      body: { name, baseCurrency, settings },
    })
    return { redirectTo: `${addressOf(request)}?done=saved` }
  }, refused(request))
}

function statusForm(request: AreaRequest, { status }: Merchant): Html {
  const { texts, postForm } = request
  const { t } = texts
  const isActive = status === 'active'
  const fields = isActive
    ? html`<button class="danger">${t('opsSuspend')}</button>`
    : html`<button>${t('opsActivate')}</button>`
  const form = postForm(`${addressOf(request)}/${isActive ? 'suspend' : 'activate'}`, fields)
  return html`<section class="card"><details><summary>${t(isActive ? 'opsSuspendTitle' : 'opsActivateTitle')}</summary>
<p>${t(isActive ? 'opsSuspendText' : 'opsActivateText')}</p>${form}</details></section>`
}

function changeStatus(request: AreaRequest, operation: 'merchants.suspend' | 'merchants.activate') {
  return orShowProblem(async () => {
    await request.call(operation, { params: paramsOf(request) })
    return { redirectTo: `${addressOf(request)}?done=saved` }
  }, refused(request))
}

function inviteForm(request: AreaRequest): Html {
  const { texts, form, postForm } = request
  const { t } = texts
  const fields = html`${field('email', t('email'), { type: 'email', value: form.email ?? '', isRequired: true })}<button>${t('opsInvite')}</button>`
  return html`<section class="card"><h2>${t('opsInviteTitle')}</h2><p>${t('opsInviteText')}</p>${postForm(`${addressOf(request)}/invite`, fields)}</section>`
}

function inviteOwner(request: AreaRequest) {
  const { texts, form } = request
  return orShowProblem(async () => {
    const input = { params: paramsOf(request), body: { email: form.email ?? '' } }
    const { link, email } = await dataOf<{ link: string; email: string }>(
      request,
      'ownerInvitations.create',
      input,
    )
    const body = notice('good', html`<p>${texts.t('opsInvited', { email })}</p><p><code>${link}</code></p>`)
    return showMerchant(request, { body, http: 201 })
  }, refused(request))
}
