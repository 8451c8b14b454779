// Creating an API key, with at most the rights of the person.

import { ApiError } from '../../../core/errors.ts'
import { grantsScope, SCOPES } from '../../../core/merchant.ts'
import { addMs } from '../../../kit/clock.ts'
import { type Html, html } from '../../../kit/http/html.ts'
import { field, problemNotice, select, tick } from '../../frame/components.ts'
import type { Screen, ScreenRequest } from '../../frame/screen.ts'
import { showKey } from './keys.ts'
import { developerTabs, KEYS_PATH } from './tabs.ts'

const DAY_MS = 86_400_000
const LIFETIME_DAYS = ['', '30', '90', '365']

export const newKeyScreens: Screen[] = [
  {
    method: 'GET',
    path: '/developers/keys/new',
    needs: ['apiKeys.create'],
    stepUp: true,
    handle: async (request) => show(request),
  },
  { method: 'POST', path: '/developers/keys/new', needs: ['apiKeys.create'], stepUp: true, handle: create },
]

function scopeTicks({ person, form }: ScreenRequest): Html {
  const own = SCOPES.filter((scope) => grantsScope(person.scopes, scope))
  return html`<div class="ticks">${own.map((scope) =>
    tick(`scope:${scope}`, html`<code>${scope}</code>`, form[`scope:${scope}`] !== undefined),
  )}</div>`
}

function show(request: ScreenRequest, problem?: ApiError) {
  const { texts, form, postForm } = request
  const { t } = texts
  const lifetimes = LIFETIME_DAYS.map((value) => ({ value, label: texts.word('expiry', value) }))
  const fields = html`${field('name', t('keyName'), { value: form.name ?? '', hint: t('keyNameHint'), isRequired: true })}
<fieldset><legend>${t('keyScopes')}</legend><p class="hint">${t('keyScopesHint')}</p>${scopeTicks(request)}</fieldset>
<div class="field">${select('days', t('keyExpiry'), form.days, lifetimes)}</div>
${field('addresses', t('keyAddresses'), { value: form.addresses ?? '', hint: t('keyAddressesHint') })}<button>${t('keyCreate')}</button>`
  const body = html`<div class="head"><h1>${t('keyNew')}</h1></div>${developerTabs(request, KEYS_PATH)}${problemNotice(problem)}
<section class="card">${postForm(`${KEYS_PATH}/new`, fields)}</section>`
  return { title: t('keyNew'), body, http: problem ? 422 : 200 }
}

/** The same for each submission of the form, so the end is a day and not a moment. The API refuses another text. */
function endOf(now: Date, days: string): string {
  if (!LIFETIME_DAYS.includes(days)) return days
  return `${addMs(now, Number(days) * DAY_MS)
    .toISOString()
    .slice(0, 10)}T23:59:59.000Z`
}

function inputOf({ form, now }: ScreenRequest) {
  const allowedIps = (form.addresses ?? '').split(/[\s,;]+/).filter(Boolean)
  return {
    name: form.name ?? '',
    scopes: SCOPES.filter((scope) => form[`scope:${scope}`] !== undefined),
    ...(form.days && { expiresAt: endOf(now, form.days) }),
    ...(allowedIps.length > 0 && { allowedIps }),
  }
}

async function create(request: ScreenRequest) {
  const { call, submission } = request
  try {
    const body = inputOf(request)
    return showKey(request, await call('apiKeys.create', { body, idempotencyKey: submission }))
  } catch (error) {
    if (error instanceof ApiError) return show(request, error)
    throw error
  }
}
