// API keys: a list, one key, and creating, replacing and revoking keys. A key is shown once.

import type { Static } from 'typebox'
import type { SelfServiceKeyRecord } from '../../../api-keys/schema.ts'
import { type Html, html } from '../../../kit/http/html.ts'
import type { RouteResponse } from '../../../kit/http/route.ts'
import { badge, facts, notice, written } from '../../frame/components.ts'
import { listScreens } from '../../frame/list-screen.ts'
import type { Screen, ScreenRequest } from '../../frame/screen.ts'
import { askScreens } from './ask.ts'
import { createdCard, createdField, revokeCreated } from './created-keys.ts'
import { mayGrant } from './key-rights.ts'
import { overlapField, overlapInput } from './overlap.ts'
import { isReplayed, showOnce } from './show-once.ts'
import { developerTabs, KEYS_PATH } from './tabs.ts'

type Key = Static<typeof SelfServiceKeyRecord>

const ONE = '/developers/keys/{keyId}'

export const keyScreens: Screen[] = [
  ...listScreens<Key>({
    path: '/developers/keys',
    title: 'keysTitle',
    list: 'apiKeys.list',
    exports: 'apiKeys.export',
    filters: [],
    actions: ({ allows, texts: { t } }) =>
      allows('apiKeys.create') ? html`<a class="button" href="${KEYS_PATH}/new">${t('keyNew')}</a>` : null,
    intro: async (request) => developerTabs(request, KEYS_PATH),
    columns: (texts) => [
      {
        label: texts.t('key'),
        isTitle: true,
        cell: ({ keyId, name, prefix }) =>
          html`<a class="row" href="${KEYS_PATH}/${keyId}">${written(name)}</a><span class="sub"><code>${prefix}</code></span>`,
      },
      { label: texts.t('status'), cell: ({ status }) => keyBadge(status, texts) },
      {
        label: texts.t('keyLastUsed'),
        cell: ({ lastUsedAt }) => (lastUsedAt ? texts.time(lastUsedAt) : texts.t('keyNever')),
      },
      {
        label: texts.t('keyExpiry'),
        cell: ({ expiresAt }) => (expiresAt ? texts.time(expiresAt) : texts.t('keyNever')),
      },
      { label: texts.t('created'), cell: ({ createdAt }) => texts.time(createdAt) },
    ],
    emptyTitle: 'noKeysTitle',
    emptyText: 'noKeysText',
  }),
  { method: 'GET', path: ONE, needs: ['apiKeys.get'], handle: show },
  ...askScreens({
    path: `${ONE}/rotate`,
    operation: 'apiKeys.rotate',
    title: 'keyRotateTitle',
    text: 'keyRotateText',
    button: 'keyRotate',
    stepUp: true,
    blocked: async (request) => (mayReplace(request, await load(request)) ? null : 'keyCannotReplace'),
    facts: async (request) => keyFacts(await load(request), request),
    fields: overlapField,
    back: ONE,
    act: async (request) => {
      const { call, params, submission } = request
      const input = { params: { keyId: params.keyId ?? '' }, body: overlapInput(request) }
      return showKey(request, await call('apiKeys.rotate', { ...input, idempotencyKey: submission }))
    },
  }),
  ...askScreens({
    path: `${ONE}/revoke`,
    operation: 'apiKeys.revoke',
    title: 'keyRevokeTitle',
    text: 'keyRevokeText',
    button: 'keyRevoke',
    isDanger: true,
    stepUp: true,
    facts: async (request) => keyFacts(await load(request), request),
    fields: createdField,
    back: ONE,
    act: async (request) => {
      const { call, params, form, submission } = request
      const { keyId = '' } = params
      // First the key itself, which then creates no more.
      await call('apiKeys.revoke', { params: { keyId }, body: {}, idempotencyKey: submission })
      if (form.created !== undefined) await revokeCreated(request)
      return { redirectTo: `${KEYS_PATH}/${keyId}?done=revoked` }
    },
  }),
]

const keyBadge = (status: Key['status'], texts: ScreenRequest['texts']) =>
  status === 'revoked'
    ? html`<span class="badge plain">${texts.t('keyRevoked')}</span>`
    : badge(texts, status)

async function load({ call, params }: ScreenRequest): Promise<Key> {
  // A boundary: the operation returns a record of this schema.
  return (await call('apiKeys.get', { params: { keyId: params.keyId ?? '' } })).data as Key
}

/** Who replaces a key gets one with the same rights. */
const mayReplace = (request: ScreenRequest, { scopes }: Key) =>
  scopes.every((scope) => mayGrant(request, scope))

/** Null in the response to a retry: the API does not store the key. */
export function showKey(request: ScreenRequest, response: RouteResponse) {
  // A boundary: the operations return a key with its secret.
  const { keyId, apiKey } = response.data as Key & { apiKey: string | null }
  return showOnce(request, {
    title: 'keySecretTitle',
    text: 'keySecretText',
    gone: 'keySecretGone',
    next: `${KEYS_PATH}/${keyId}`,
    value: isReplayed(response) ? null : apiKey,
  })
}

const scopeNames = (scopes: Key['scopes'], t: ScreenRequest['texts']['t']) =>
  html`<code>${scopes.join(', ')}</code>${scopes.includes('*') && ` (${t('keyEverything')})`}`

function keyFacts(key: Key, { texts }: ScreenRequest): Html {
  const { t } = texts
  const { name, prefix, scopes, allowedIps, lastUsedAt, expiresAt, revokedAt, replacedBy, createdAt } = key
  return facts([
    [t('keyName'), written(name)],
    [t('key'), html`<code>${prefix}</code>`],
    [t('keyScopes'), scopeNames(scopes, t)],
    [
      t('keyAddresses'),
      allowedIps.length > 0 ? html`<code>${allowedIps.join(', ')}</code>` : t('keyAnyAddress'),
    ],
    [t('keyLastUsed'), lastUsedAt ? texts.time(lastUsedAt) : t('keyNever')],
    [t('keyExpiry'), expiresAt ? texts.time(expiresAt) : t('keyNever')],
    [t('keyRevoked'), revokedAt && texts.time(revokedAt)],
    [
      t('keyReplacedBy'),
      replacedBy && html`<a href="${KEYS_PATH}/${replacedBy}"><code>${replacedBy}</code></a>`,
    ],
    [t('created'), texts.time(createdAt)],
  ])
}

async function show(request: ScreenRequest) {
  const { texts, query, allows } = request
  const { t } = texts
  const key = await load(request)
  const isActive = key.status === 'active'
  const path = `${KEYS_PATH}/${key.keyId}`
  const canAsk = isActive && allows('apiKeys.rotate')
  const canReplace = mayReplace(request, key)
  const body = html`<div class="head"><h1>${written(key.name)}</h1>${keyBadge(key.status, texts)}
<div class="actions">${canAsk && canReplace && html`<a class="button plain" href="${path}/rotate">${t('keyRotate')}</a>`}
${isActive && allows('apiKeys.revoke') && html`<a class="button danger" href="${path}/revoke">${t('keyRevoke')}</a>`}</div></div>
${developerTabs(request, KEYS_PATH)}${query.done && notice('good', html`<p>${t(query.done === 'revokedCreated' ? 'done_revokedCreated' : 'done_revoked')}</p>`)}
<section class="card">${keyFacts(key, request)}${canAsk && !canReplace && html`<p class="dim">${t('keyCannotReplace')}</p>`}</section>${await createdCard(request, key)}`
  return { title: key.name, body }
}
