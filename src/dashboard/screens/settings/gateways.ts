// The gateways of the merchant, and its own account at each: credentials are entered here and never shown again.

import { ApiError } from '../../../core/errors.ts'
import { type Html, html } from '../../../kit/http/html.ts'
import { accountOf } from '../../../people/accounts.ts'
import { area, facts, field, notice, problemNotice, table } from '../../frame/components.ts'
import { fieldErrors } from '../../frame/form-input.ts'
import { type Labels, NO_FIELDS } from '../../frame/issues.ts'
import type { Screen, ScreenRequest, ScreenResponse } from '../../frame/screen.ts'
import { SETTINGS_PATH, settingsPage } from './frame.ts'

interface ListedGateway {
  gateway: string
  title: string
  servedBy: 'merchant' | 'instance' | null
  savedAt: string | null
}

interface GatewayField {
  name: string
  isRequired: boolean
  meaning: string
}

interface Account {
  updatedAt: string
  webhookUrl: string
  credentials: { name: string; isSet: boolean; ending: string | null }[]
  limits: Record<string, string | null>
}

interface Gateway {
  gateway: string
  title: string
  account: Account | null
  credentials: GatewayField[]
  limits: GatewayField[]
}

const PATH = `${SETTINGS_PATH}/gateways`

export const gatewayScreens: Screen[] = [
  { method: 'GET', path: '/settings/gateways', needs: ['ownGateways.list'], handle: list },
  {
    method: 'GET',
    path: '/settings/gateways/{gateway}',
    needs: ['ownGateways.get'],
    stepUp: true,
    handle: async (request) => show(request, await load(request)),
  },
  { method: 'POST', path: '/settings/gateways/{gateway}', needs: ['ownGateways.save'], handle: save },
  { method: 'POST', path: '/settings/gateways/{gateway}/test', needs: ['ownGateways.test'], handle: test },
  {
    method: 'POST',
    path: '/settings/gateways/{gateway}/remove',
    needs: ['ownGateways.revoke'],
    stepUp: true,
    handle: async ({ call, params: { gateway = '' } }) => {
      await call('ownGateways.revoke', { params: { gateway } })
      return { redirectTo: `${PATH}?removed=1` }
    },
  },
]

async function list(request: ScreenRequest): Promise<ScreenResponse> {
  const { call, allows, query, texts } = request
  const { t } = texts
  // A boundary: the operation returns records of this type.
  const gateways = (await call('ownGateways.list')).data as ListedGateway[]
  const name = ({ gateway, title }: ListedGateway) =>
    allows('ownGateways.get')
      ? html`<a class="row" href="${PATH}/${gateway}">${title}</a>`
      : html`<b>${title}</b>`
  const columns = [
    { label: t('gateway'), isTitle: true, cell: name },
    {
      label: t('servedBy'),
      cell: ({ servedBy }: ListedGateway) =>
        html`<span class="badge ${servedBy === null ? 'neutral' : 'good'}">${texts.word('served', servedBy ?? 'none')}</span>`,
    },
    { label: t('savedAt'), cell: ({ savedAt }: ListedGateway) => texts.time(savedAt) },
  ]
  const body = html`${query.removed && notice('good', html`<p>${t('gatewayRemoved')}</p>`)}<p>${t('gatewaysText')}</p>
${table(t('settingsGateways'), columns, gateways)}`
  return settingsPage(request, { path: '/gateways', body, labels: NO_FIELDS })
}

async function load({ call, params: { gateway = '' } }: ScreenRequest): Promise<Gateway> {
  // A boundary: the operation returns a record of this type.
  return (await call('ownGateways.get', { params: { gateway } })).data as Gateway
}

async function save(request: ScreenRequest): Promise<ScreenResponse> {
  const { app, principal, origin, call, form, params } = request
  const { gateway = '' } = params
  // The page asks who it is. A confirmation here would write the credentials into its own form.
  if (!accountOf(app, principal, origin).isRecentlyAuthenticated())
    return { redirectTo: `${PATH}/${gateway}?again=1` }
  const loaded = await load(request)
  const names = [...loaded.credentials, ...loaded.limits].map(({ name }) => name)
  const credentials = Object.fromEntries(names.map((name) => [name, form[name] ?? '']))
  try {
    await call('ownGateways.save', { params: { gateway }, body: { credentials } })
    return { redirectTo: `${PATH}/${gateway}?done=saved` }
  } catch (error) {
    if (error instanceof ApiError) return show(request, loaded, { problem: error })
    throw error
  }
}

async function test(request: ScreenRequest): Promise<ScreenResponse> {
  const { call, params, texts } = request
  const { gateway = '' } = params
  // A boundary: the operation returns this type.
  const { result } = (await call('ownGateways.test', { params: { gateway } })).data as { result: TestResult }
  const loaded = await load(request)
  const text = texts.t(`gateway_${result}`, { title: loaded.title })
  return show(request, loaded, { tested: notice(TONES[result], html`<p>${text}</p>`) })
}

type TestResult = 'works' | 'refused' | 'unreachable' | 'unchecked'
const TONES = { works: 'good', refused: 'bad', unreachable: 'wait', unchecked: 'wait' } as const

function show(
  request: ScreenRequest,
  loaded: Gateway,
  { problem, tested }: { problem?: ApiError; tested?: Html } = {},
): ScreenResponse {
  const { texts, query } = request
  const { t } = texts
  const { title, account } = loaded
  const labels = labelsOf(loaded)
  const body = html`<p><a href="${PATH}">${t('settingsGateways')}</a></p><div class="head"><h1>${title}</h1></div>
${query.done === 'saved' && notice('good', html`<p>${t('settingsSaved')}</p>`)}${tested}
${problemNotice(problem, labels)}${(problem || query.again) && html`<p>${t('credentialsAgain')}</p>`}
<div class="split"><section class="card"><h2>${t('credentialsTitle')}</h2>${credentialForm(request, loaded, fieldErrors(problem, labels))}</section>
<div>${account && accountCard(request, loaded, account)}</div></div>`
  return { title, body, http: problem ? 422 : 200 }
}

function accountCard(request: ScreenRequest, { gateway }: Gateway, account: Account): Html {
  const { postForm, texts } = request
  const { t } = texts
  const stateOf = ({ isSet, ending }: Account['credentials'][number]) => {
    if (!isSet) return t('credentialMissing')
    return ending === null ? t('credentialSet') : t('credentialEnding', { ending })
  }
  const states = account.credentials.map((one) => [one.name, stateOf(one)] as const)
  const remove = html`<p>${t('gatewayRemoveText')}</p><button class="danger">${t('gatewayRemove')}</button>`
  return html`<section class="card">${facts([
    [t('savedAt'), texts.time(account.updatedAt)],
    ...states,
    [t('webhookUrl'), html`<code>${account.webhookUrl}</code>`],
  ])}${postForm(`${PATH}/${gateway}/test`, html`<button class="plain">${t('gatewayTest')}</button>`)}
<details><summary>${t('gatewayRemove')}</summary>${postForm(`${PATH}/${gateway}/remove`, remove)}</details></section>`
}

const apiName = (name: string) => `credentials.${name}`

/** A credential has the name that its provider gives it, in every language. */
const labelsOf = ({ credentials, limits }: Gateway): Labels =>
  Object.fromEntries([...credentials, ...limits].map(({ name }) => [apiName(name), name]))

/** What was entered as a credential is never written into the page. */
function credentialForm(
  { postForm, texts: { t }, form }: ScreenRequest,
  loaded: Gateway,
  errors: Labels,
): Html {
  const { gateway, title, credentials, limits, account } = loaded
  return postForm(
    `${PATH}/${gateway}`,
    html`<p>${t('credentialsReplace', { title })}</p>
${credentials.map(({ name, meaning, isRequired }) => area(name, name, { hint: meaning, isRequired, error: errors[apiName(name)] }))}
<h2>${t('limitsTitle')}</h2>${limits.map(({ name, meaning }) => field(name, name, { hint: meaning, value: form[name] ?? account?.limits[name] ?? '', error: errors[apiName(name)] }))}
<button>${t('save')}</button>`,
  )
}
