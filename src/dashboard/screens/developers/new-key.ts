// Creating an API key, with the rights that the person may give.

import type { ApiError } from '../../../core/errors.ts'
import { addMs } from '../../../kit/clock.ts'
import { html } from '../../../kit/http/html.ts'
import { field, problemNotice } from '../../frame/components.ts'
import { fieldErrors, orShowProblem, selectField } from '../../frame/form-input.ts'
import type { Screen, ScreenRequest } from '../../frame/screen.ts'
import { chosenScopes, rightsFields } from './key-rights.ts'
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

const labelsOf = ({ t }: ScreenRequest['texts']) => ({
  name: t('keyName'),
  scopes: t('keyScopes'),
  allowedIps: t('keyAddresses'),
  expiresAt: t('keyExpiry'),
})

function show(request: ScreenRequest, problem?: ApiError) {
  const { texts, form, postForm } = request
  const { t } = texts
  const labels = labelsOf(texts)
  const errors = fieldErrors(problem, labels)
  const lifetimes = LIFETIME_DAYS.map((value) => ({ value, label: texts.word('expiry', value) }))
  const name = { value: form.name ?? '', hint: t('keyNameHint'), isRequired: true, error: errors.name }
  const addresses = {
    value: form.addresses ?? '',
    hint: t('keyAddressesHint'),
    error: errors.allowedIps,
  }
  const fields = html`${field('name', labels.name, name)}${rightsFields(request, errors.scopes)}
${selectField('days', labels.expiresAt, lifetimes, { value: form.days ?? '', error: errors.expiresAt })}
${field('addresses', labels.allowedIps, addresses)}<button>${t('keyCreate')}</button>`
  const body = html`<div class="head"><h1>${t('keyNew')}</h1></div>${developerTabs(request, KEYS_PATH)}${problemNotice(problem, labels)}
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
    scopes: chosenScopes({ form }),
    ...(form.days && { expiresAt: endOf(now, form.days) }),
    ...(allowedIps.length > 0 && { allowedIps }),
  }
}

function create(request: ScreenRequest) {
  return orShowProblem(
    async () => {
      const { call, submission } = request
      const input = { body: inputOf(request), idempotencyKey: submission }
      return showKey(request, await call('apiKeys.create', input))
    },
    (problem) => show(request, problem),
  )
}
