// A person's own account: name, language, password, second factors and sessions.

import { isUuid } from '../../core/ids.ts'
import { LANGUAGES } from '../../core/languages.ts'
import { type Html, html } from '../../kit/http/html.ts'
import { type Account, accountOf } from '../../people/accounts.ts'
import { PeopleError } from '../../people/errors.ts'
import { listOwnMemberships } from '../../people/team.ts'
import { facts, field, notice, select, table, written } from '../frame/components.ts'
import { cookie } from '../frame/guard.ts'
import type { Screen, ScreenRequest, ScreenResponse } from '../frame/screen.ts'
import { DASHBOARD_LANGUAGES, isDashboardLanguage } from '../frame/texts.ts'

export const ACCOUNT_PATH = '/app/account'

export const ownAccount = ({ app, principal, origin }: ScreenRequest) => accountOf(app, principal, origin)

type Sessions = Awaited<ReturnType<Account['sessions']>>

const POST = { method: 'POST', needs: [] } as const

export const accountScreens: Screen[] = [
  { method: 'GET', path: '/account', needs: [], handle: (request) => showAccount(request) },
  { ...POST, path: '/account/profile', handle: (request) => profile(request) },
  { ...POST, path: '/account/password', stepUp: true, handle: (request) => password(request) },
  {
    ...POST,
    path: '/account/sessions/{uuid}/end',
    handle: (request) => onAccount(request, () => end(request)),
  },
  {
    ...POST,
    path: '/account/end-other-sessions',
    handle: (request) =>
      onAccount(request, async () => {
        await request.change(() => ownAccount(request).endSessionsElsewhere())
        return { redirectTo: `${ACCOUNT_PATH}?done=saved` }
      }),
  },
]

/** What src/people refuses is shown on the page of the account. */
export async function onAccount(
  request: ScreenRequest,
  work: () => Promise<ScreenResponse>,
): Promise<ScreenResponse> {
  try {
    return await work()
  } catch (error) {
    if (!(error instanceof PeopleError)) throw error
    return showAccount(request, error)
  }
}

function profile(request: ScreenRequest): Promise<ScreenResponse> {
  const { form, change } = request
  const language = isDashboardLanguage(form.language) ? form.language : 'en'
  return onAccount(request, async () => {
    await change(() => ownAccount(request).saveProfile({ name: (form.name ?? '').trim(), language }))
    // The address sets the language of this browser too.
    return { redirectTo: `${ACCOUNT_PATH}?done=saved&lang=${language}` }
  })
}

function password(request: ScreenRequest): Promise<ScreenResponse> {
  return onAccount(request, async () => {
    const { app, form, change } = request
    const token = await change(() => ownAccount(request).changePassword(form.newPassword ?? ''))
    return { redirectTo: `${ACCOUNT_PATH}?done=password`, cookies: [cookie(app, 'session', token)] }
  })
}

async function end(request: ScreenRequest) {
  const { uuid } = request.params
  if (!isUuid(uuid)) throw new PeopleError('session_ended')
  await request.change(() => ownAccount(request).endSession(uuid))
  return { redirectTo: `${ACCOUNT_PATH}?done=saved` }
}

export async function showAccount(request: ScreenRequest, problem?: PeopleError): Promise<ScreenResponse> {
  const { app, texts, query, principal } = request
  const account = ownAccount(request)
  const { t } = texts
  const [sessions, codes, memberships] = await Promise.all([
    account.sessions(),
    account.recoveryCodesLeft(),
    listOwnMemberships(app, principal),
  ])
  const body = html`<div class="head"><h1>${t('accountTitle')}</h1>${
    memberships.length > 1 &&
    html`<div class="actions"><a class="button plain" href="/app/choose">${t('chooseOther')}</a></div>`
  }</div>
${query.done && notice('good', html`<p>${t(query.done === 'password' ? 'done_password' : 'done_saved')}</p>`)}
${problem && notice('bad', html`<p>${texts.word('people', problem.code)}</p>`)}
<div class="split"><div>${profileForm(request)}${passwordForm(request)}</div>
<div>${totpSection(request, codes)}</div></div>
${sessionSection(request, sessions)}`
  return { title: t('accountTitle'), body, http: problem?.http ?? 200 }
}

function profileForm({ texts, principal: { user, role }, postForm, form }: ScreenRequest): Html {
  const { t } = texts
  const languages = DASHBOARD_LANGUAGES.map((value) => ({ value, label: LANGUAGES[value].name }))
  return html`<section class="card">${facts([
    [t('email'), written(user.email)],
    [t('role'), texts.word('role', role)],
  ])}${postForm(
    `${ACCOUNT_PATH}/profile`,
    html`${field('name', t('yourName'), { value: form.name ?? user.name, isRequired: true, autocomplete: 'name' })}<div class="field">${select('language', t('language'), user.language ?? texts.language, languages)}</div><button>${t('save')}</button>`,
  )}</section>`
}

function passwordForm({ texts: { t }, principal: { user }, postForm }: ScreenRequest): Html {
  return html`<section class="card"><h2>${t(user.hasPassword ? 'changePassword' : 'setPassword')}</h2><p>${t('changePasswordText')}</p>${postForm(
    `${ACCOUNT_PATH}/password`,
    html`${field('newPassword', t('newPassword'), { type: 'password', isRequired: true, autocomplete: 'new-password', hint: t('passwordHint') })}<button>${t('save')}</button>`,
  )}</section>`
}

function totpSection({ texts: { t }, principal: { user }, postForm }: ScreenRequest, codes: number): Html {
  const on = html`<p>${t('totpOn', { count: codes })}</p>${postForm(`${ACCOUNT_PATH}/recovery-codes`, html`<button class="plain">${t('newCodes')}</button>`)}
<details><summary>${t('totpRemove')}</summary>${postForm(`${ACCOUNT_PATH}/totp/remove`, html`<p>${t('totpRemoveText')}</p><button class="danger">${t('totpRemove')}</button>`)}</details>`
  const off = html`<p>${t('totpOff')}</p>${postForm(`${ACCOUNT_PATH}/totp`, html`<button>${t('totpStart')}</button>`)}`
  return html`<section class="card"><h2>${t('totpTitle')}</h2>${user.hasTotp ? on : off}</section>`
}

function sessionSection({ texts, principal, postForm }: ScreenRequest, sessions: Sessions): Html {
  const { t } = texts
  const endForm = (id: string) =>
    postForm(`${ACCOUNT_PATH}/sessions/${id}/end`, html`<button class="plain small">${t('signOut')}</button>`)
  return html`<h2>${t('sessionsTitle')}</h2>${table(
    t('sessionsTitle'),
    [
      { label: t('browser'), isTitle: true, cell: ({ userAgent }) => written(userAgent) },
      { label: t('auditAddress'), cell: ({ address }) => html`<bdi dir="ltr">${address}</bdi>` },
      { label: t('signedIn'), cell: ({ createdAt }) => texts.time(createdAt.toISOString()) },
      { label: t('lastSeen'), cell: ({ lastSeenAt }) => texts.time(lastSeenAt.toISOString()) },
      {
        label: t('actions'),
        cell: ({ id }) => (id === principal.sessionId ? t('thisSession') : endForm(id)),
      },
    ],
    sessions,
  )}${sessions.length > 1 && postForm(`${ACCOUNT_PATH}/end-other-sessions`, html`<button class="plain">${t('endOthers')}</button>`)}`
}
