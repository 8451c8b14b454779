// The API keys of a merchant. A key is shown once, by the response that makes it.

import type { Static } from 'typebox'
import type { KeyRecord } from '../../api-keys/schema.ts'
import { SCOPES } from '../../core/merchant.ts'
import { type Html, html } from '../../kit/http/html.ts'
import { badge, empty, field, notice, table, written } from '../frame/components.ts'
import { orShowProblem } from '../frame/form-input.ts'
import type { AreaRequest, Screen } from '../frame/screen.ts'
import { dataOf } from './data.ts'
import { MERCHANTS_PATH } from './merchants.ts'

type Key = Static<typeof KeyRecord>

export const merchantKeyScreens: Screen<AreaRequest>[] = [
  {
    method: 'GET',
    path: '/merchants/{uuid}/keys/new',
    needs: ['apiKeys.create'],
    stepUp: true,
    handle: async (request) => keyForm(request),
  },
  {
    method: 'POST',
    path: '/merchants/{uuid}/keys/new',
    needs: ['apiKeys.create'],
    stepUp: true,
    once: (request) => merchantPath(request),
    handle: createKey,
  },
  {
    method: 'POST',
    path: '/merchants/{uuid}/keys/{keyId}/rotate',
    needs: ['apiKeys.rotate'],
    stepUp: true,
    once: (request) => merchantPath(request),
    handle: rotateKey,
  },
  {
    method: 'POST',
    path: '/merchants/{uuid}/keys/{keyId}/revoke',
    needs: ['apiKeys.revoke'],
    stepUp: true,
    handle: revokeKey,
  },
]

const merchantPath = ({ params: { uuid = '' } }: AreaRequest) => `${MERCHANTS_PATH}/${uuid}`
const keysPath = (request: AreaRequest) => `${merchantPath(request)}/keys`

export async function keySection(request: AreaRequest, uuid: string): Promise<Html> {
  const { texts } = request
  const { t } = texts
  const keys = await dataOf<Key[]>(request, 'apiKeys.list', { params: { uuid }, query: { limit: '100' } })
  const list =
    keys.length === 0
      ? empty(t('opsNoKeysTitle'), t('opsNoKeysText'))
      : table(
          t('opsKeys'),
          [
            {
              label: t('opsKey'),
              isTitle: true,
              cell: ({ name, prefix }) =>
                html`${written(name)}<span class="sub"><code>${prefix}</code></span>`,
            },
            { label: t('status'), isBeside: true, cell: ({ status }) => badge(texts, status) },
            { label: t('opsLastUsed'), cell: ({ lastUsedAt }) => texts.time(lastUsedAt) },
            { label: t('opsActions'), cell: (key) => (key.status === 'active' ? actions(request, key) : '') },
          ],
          keys,
        )
  return html`<div class="head"><h2>${t('opsKeys')}</h2><div class="actions"><a class="button plain" href="${keysPath(request)}/new">${t('opsNewKey')}</a></div></div>${list}`
}

function actions(request: AreaRequest, { keyId }: Key): Html {
  const {
    texts: { t },
    postForm,
  } = request
  const path = `${keysPath(request)}/${keyId}`
  return html`<details><summary>${t('opsChange')}</summary>${postForm(`${path}/rotate`, html`<button class="plain small">${t('opsRotate')}</button>`)}
${postForm(`${path}/revoke`, html`<button class="danger small">${t('opsRevoke')}</button>`)}</details>`
}

function keyForm(request: AreaRequest, problem?: Error) {
  const {
    texts: { t },
    postForm,
    form,
  } = request
  const title = t('opsNewKey')
  // Without scopes of keys: a leaked key must not create others.
  const isTicked = (scope: string) =>
    form.name === undefined ? !scope.startsWith('keys:') : form[`scope-${scope}`] !== undefined
  const scopes = SCOPES.map(
    (scope) =>
      html`<label class="tick"><input type="checkbox" name="scope-${scope}" value="yes"${isTicked(scope) && html` checked`}> <span>${scope}</span></label>`,
  )
  const fields = html`${field('name', t('opsKeyName'), { value: form.name ?? '', isRequired: true })}
<fieldset><legend>${t('opsScopes')}</legend>${scopes}</fieldset><button>${t('opsCreate')}</button>`
  const body = html`<div class="head"><h1>${title}</h1></div>
${problem && notice('bad', html`<p>${problem.message}</p>`)}<section class="card">${postForm(`${keysPath(request)}/new`, fields)}</section>`
  return { title, body, http: problem ? 422 : 200 }
}

function createKey(request: AreaRequest) {
  const {
    params: { uuid = '' },
    form,
  } = request
  const scopes = SCOPES.filter((scope) => form[`scope-${scope}`] !== undefined)
  return orShowProblem(
    async () => {
      const input = { params: { uuid }, body: { name: form.name ?? '', scopes } }
      return showKey(request, await dataOf(request, 'apiKeys.create', input))
    },
    async (problem) => keyForm(request, problem),
  )
}

async function rotateKey(request: AreaRequest) {
  const {
    params: { keyId = '' },
  } = request
  return showKey(request, await dataOf(request, 'apiKeys.rotate', { params: { keyId } }))
}

async function revokeKey(request: AreaRequest) {
  const {
    params: { keyId = '' },
    call,
  } = request
  await call('apiKeys.revoke', { params: { keyId } })
  return { redirectTo: `${merchantPath(request)}?done=saved` }
}

function showKey(request: AreaRequest, { apiKey, name }: Key & { apiKey: string }) {
  const {
    texts: { t },
  } = request
  const title = t('opsNewKey')
  const body = html`<div class="head"><h1>${title}</h1></div>
${notice('good', html`<p>${t('opsKeyOnce')}</p><p>${written(name)}</p><p><code>${apiKey}</code></p>`)}
<p><a class="button plain" href="${merchantPath(request)}">${t('back')}</a></p>`
  return { title, body, http: 201 }
}
