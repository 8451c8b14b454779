// The keys that were created with another key and still work. Who revokes a stolen key must know of them.

import type { Static } from 'typebox'
import type { SelfServiceKeyRecord } from '../../../api-keys/schema.ts'
import { type Html, html } from '../../../kit/http/html.ts'
import { notice, tick, written } from '../../frame/components.ts'
import type { Screen, ScreenRequest } from '../../frame/screen.ts'
import { askScreens } from './ask.ts'
import { KEYS_PATH } from './tabs.ts'

type Key = Static<typeof SelfServiceKeyRecord>

const ONE = '/developers/keys/{keyId}'

/** Also while the key itself stays. */
export const createdKeyScreens: Screen[] = askScreens({
  path: `${ONE}/revoke-created`,
  operation: 'apiKeys.revokeCreated',
  title: 'keyRevokeCreatedTitle',
  text: 'keyCreatedHint',
  button: 'keyRevokeCreated',
  isDanger: true,
  stepUp: true,
  facts: async (request) => keyList(request, await loadCreated(request)),
  back: ONE,
  act: async (request) => {
    await revokeCreated(request)
    return { redirectTo: `${KEYS_PATH}/${request.params.keyId}?done=revokedCreated` }
  },
})

async function loadCreated({ call, params }: ScreenRequest): Promise<Key[]> {
  // A boundary: the operation returns records of this schema.
  return (await call('apiKeys.listCreated', { params: { keyId: params.keyId ?? '' } })).data as Key[]
}

export async function revokeCreated({ call, params }: ScreenRequest): Promise<void> {
  await call('apiKeys.revokeCreated', { params: { keyId: params.keyId ?? '' } })
}

function keyList({ texts }: ScreenRequest, keys: readonly Key[]): Html {
  const { t, time } = texts
  return html`<p>${t('keyCreatedCount', { count: keys.length })}</p><ul class="todo">${keys.map(
    ({ keyId, name, prefix, lastUsedAt }) =>
      html`<li><a href="${KEYS_PATH}/${keyId}">${written(name)}</a> <span class="sub"><code>${prefix}</code> · ${t('keyLastUsed')}: ${lastUsedAt ? time(lastUsedAt) : t('keyNever')}</span></li>`,
  )}</ul>`
}

/** In the form that revokes the key. */
export async function createdField(request: ScreenRequest): Promise<Html | null> {
  const { texts, form } = request
  const { t } = texts
  const keys = await loadCreated(request)
  if (keys.length === 0) return null
  return html`${notice('wait', html`${keyList(request, keys)}<p>${t('keyCreatedHint')}</p>`)}${tick('created', t('keyCreatedToo'), form.created !== undefined)}`
}

/** On the page of the key. */
export async function createdCard(request: ScreenRequest, { keyId }: Key): Promise<Html | null> {
  const { texts, allows } = request
  const { t } = texts
  const keys = await loadCreated(request)
  if (keys.length === 0) return null
  const link = html`<p>${t('keyCreatedHint')}</p><p><a class="button danger" href="${KEYS_PATH}/${keyId}/revoke-created">${t('keyRevokeCreated')}</a></p>`
  return html`<section class="card"><h2>${t('keyCreatedTitle')}</h2>${keyList(request, keys)}${allows('apiKeys.revokeCreated') && link}</section>`
}
