// The keys that were created with another key and still work. Who revokes a stolen key must know of them.

import type { Static } from 'typebox'
import type { SelfServiceKeyRecord } from '../../../api-keys/schema.ts'
import { type Html, html } from '../../../kit/http/html.ts'
import { notice, tick, written } from '../../frame/components.ts'
import type { Screen, ScreenRequest } from '../../frame/screen.ts'
import { askScreens } from './ask.ts'
import { KEYS_PATH } from './tabs.ts'

type Key = Static<typeof SelfServiceKeyRecord>

interface CreatedKeys {
  created: readonly Key[]
  /** They have replaced a key by rotation, or were created with one that has. They are not revoked with the others. */
  successors: readonly Key[]
}

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
  facts: async (request) => createdLists(request, await loadCreated(request)),
  back: ONE,
  act: async (request) => {
    await revokeCreated(request)
    return { redirectTo: `${KEYS_PATH}/${request.params.keyId}?done=revokedCreated` }
  },
})

async function loadCreated({ call, params }: ScreenRequest): Promise<CreatedKeys> {
  const { data } = await call('apiKeys.listCreated', { params: { keyId: params.keyId ?? '' } })
  // A boundary: the operation returns records of this schema.
  const keys = data as (Key & { isSuccessor: boolean })[]
  return {
    created: keys.filter(({ isSuccessor }) => !isSuccessor),
    successors: keys.filter(({ isSuccessor }) => isSuccessor),
  }
}

export async function revokeCreated({ call, params }: ScreenRequest): Promise<void> {
  await call('apiKeys.revokeCreated', { params: { keyId: params.keyId ?? '' } })
}

function createdLists(request: ScreenRequest, { created, successors }: CreatedKeys): Html {
  const { t } = request.texts
  const [count, apart] = [created.length, successors.length]
  return html`${count > 0 && html`<p>${t('keyCreatedCount', { count })}</p>${keyList(request, created)}`}${apart > 0 && html`<p>${t('keySuccessors', { count: apart })}</p>${keyList(request, successors)}`}`
}

function keyList({ texts }: ScreenRequest, keys: readonly Key[]): Html {
  const { t, time } = texts
  return html`<ul class="todo">${keys.map(
    ({ keyId, name, prefix, lastUsedAt }) =>
      html`<li><a href="${KEYS_PATH}/${keyId}">${written(name)}</a> <span class="sub"><code>${prefix}</code> · ${t('keyLastUsed')}: ${lastUsedAt ? time(lastUsedAt) : t('keyNever')}</span></li>`,
  )}</ul>`
}

/** In the form that revokes the key. */
export async function createdField(request: ScreenRequest): Promise<Html | null> {
  const { texts, form } = request
  const { t } = texts
  const keys = await loadCreated(request)
  const [hasCreated, hasSuccessors] = [keys.created.length > 0, keys.successors.length > 0]
  if (!hasCreated && !hasSuccessors) return null
  const lists = createdLists(request, keys)
  return html`${notice('wait', html`${lists}${hasCreated && html`<p>${t('keyCreatedHint')}</p>`}`)}${hasCreated && tick('created', t('keyCreatedToo'), form.created !== undefined)}`
}

/** On the page of the key. */
export async function createdCard(request: ScreenRequest, { keyId }: Key): Promise<Html | null> {
  const { texts, allows } = request
  const { t } = texts
  const keys = await loadCreated(request)
  const hasCreated = keys.created.length > 0
  if (!hasCreated && keys.successors.length === 0) return null
  const link = html`<p>${t('keyCreatedHint')}</p><p><a class="button danger" href="${KEYS_PATH}/${keyId}/revoke-created">${t('keyRevokeCreated')}</a></p>`
  return html`<section class="card"><h2>${t('keyCreatedTitle')}</h2>${createdLists(request, keys)}${hasCreated && allows('apiKeys.revokeCreated') && link}</section>`
}
