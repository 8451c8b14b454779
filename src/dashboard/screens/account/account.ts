// A person's own account: name, language, password, second factors and sessions.

import { isUuid } from '../../../core/ids.ts'
import { LANGUAGES } from '../../../core/languages.ts'
import { type Html, html } from '../../../kit/http/html.ts'
import { accountOf } from '../../../people/accounts.ts'
import { PeopleError } from '../../../people/errors.ts'
import { facts, field, notice, select, table, written } from '../../frame/components.ts'
import { cookie } from '../../frame/cookies.ts'
import { offersPasskeys } from '../../frame/passkey-form.ts'
import type { AreaRequest, Screen, ScreenResponse } from '../../frame/screen.ts'
import { DASHBOARD_LANGUAGES, isDashboardLanguage } from '../../frame/texts.ts'
import type { TextId } from '../../locales/en.ts'

export const accountPath = ({ base }: Pick<AreaRequest, 'base'>) => `${base}/account`

export const ownAccount = ({ app, principal, origin }: AreaRequest) => accountOf(app, principal, origin)

type Account = ReturnType<typeof accountOf>
type Sessions = Awaited<ReturnType<Account['sessions']>>
type Passkeys = Awaited<ReturnType<Account['passkeys']>>

const POST = { method: 'POST', needs: [] } as const

const DONE: Partial<Record<string, TextId>> = { password: 'done_password', passkey: 'done_passkey' }

export const accountScreens: Screen<AreaRequest>[] = [
  { method: 'GET', path: '/account', needs: [], handle: (request) => showAccount(request) },
  { ...POST, path: '/account/profile', handle: (request) => profile(request) },
  {
    ...POST,
    path: '/account/password',
    stepUp: true,
    secretsAt: accountPath,
    handle: (request) => password(request),
  },
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
        return { redirectTo: `${accountPath(request)}?done=saved` }
      }),
  },
]

/** What src/people refuses is shown on the page of the account. */
export async function onAccount(
  request: AreaRequest,
  work: () => Promise<ScreenResponse>,
): Promise<ScreenResponse> {
  try {
    return await work()
  } catch (error) {
    if (!(error instanceof PeopleError)) throw error
    return showAccount(request, error)
  }
}

function profile(request: AreaRequest): Promise<ScreenResponse> {
  const { form, change } = request
  const language = isDashboardLanguage(form.language) ? form.language : 'en'
  return onAccount(request, async () => {
    await change(() => ownAccount(request).saveProfile({ name: (form.name ?? '').trim(), language }))
    // The address sets the language of this browser too.
    return { redirectTo: `${accountPath(request)}?done=saved&lang=${language}` }
  })
}

function password(request: AreaRequest): Promise<ScreenResponse> {
  return onAccount(request, async () => {
    const { app, form, change } = request
    const token = await change(() => ownAccount(request).changePassword(form.newPassword ?? ''))
    return { redirectTo: `${accountPath(request)}?done=password`, cookies: [cookie(app, 'session', token)] }
  })
}

async function end(request: AreaRequest) {
  const { uuid } = request.params
  if (!isUuid(uuid)) throw new PeopleError('session_ended')
  await request.change(() => ownAccount(request).endSession(uuid))
  return { redirectTo: `${accountPath(request)}?done=saved` }
}

export async function showAccount(request: AreaRequest, problem?: PeopleError): Promise<ScreenResponse> {
  const { texts, query } = request
  const account = ownAccount(request)
  const { t } = texts
  const [sessions, codes, passkeys, memberships] = await Promise.all([
    account.sessions(),
    account.recoveryCodesLeft(),
    account.passkeys(),
    account.memberships(),
  ])
  const body = html`<div class="head"><h1>${t('accountTitle')}</h1>${
    memberships.length > 1 &&
    html`<div class="actions"><a class="button plain" href="/app/choose">${t('chooseOther')}</a></div>`
  }</div>
${query.done && notice('good', html`<p>${t(DONE[query.done] ?? 'done_saved')}</p>`)}
${query.needs === 'totp' && notice('wait', html`<p>${t('totpRequired')}</p>`)}
${problem && notice('bad', html`<p>${texts.word('people', problem.code)}</p>`)}
<div class="split"><div>${profileForm(request)}${passwordForm(request)}</div>
<div>${totpSection(request, codes)}</div></div>
${passkeySection(request, passkeys)}
${sessionSection(request, sessions)}`
  return { title: t('accountTitle'), body, http: problem?.http ?? 200 }
}

function profileForm(request: AreaRequest): Html {
  const {
    texts,
    principal: { user, role },
    postForm,
    form,
  } = request
  const { t } = texts
  const languages = DASHBOARD_LANGUAGES.map((value) => ({ value, label: LANGUAGES[value].name }))
  return html`<section class="card">${facts([
    [t('email'), written(user.email)],
    [t('role'), texts.word('role', role)],
  ])}${postForm(
    `${accountPath(request)}/profile`,
    html`${field('name', t('yourName'), { value: form.name ?? user.name, isRequired: true, autocomplete: 'name' })}<div class="field">${select('language', t('language'), user.language ?? texts.language, languages)}</div><button>${t('save')}</button>`,
  )}</section>`
}

function passwordForm(request: AreaRequest): Html {
  const {
    texts: { t },
    principal: { user },
    postForm,
  } = request
  return html`<section class="card"><h2>${t(user.hasPassword ? 'changePassword' : 'setPassword')}</h2><p>${t('changePasswordText')}</p>${postForm(
    `${accountPath(request)}/password`,
    html`${field('newPassword', t('newPassword'), { type: 'password', isRequired: true, autocomplete: 'new-password', hint: t('passwordHint') })}<button>${t('save')}</button>`,
  )}</section>`
}

function totpSection(request: AreaRequest, codes: number): Html {
  const {
    texts: { t },
    principal: { user },
    postForm,
  } = request
  const on = html`<p>${t('totpOn', { count: codes })}</p>${postForm(`${accountPath(request)}/recovery-codes`, html`<button class="plain">${t('newCodes')}</button>`)}
<details><summary>${t('totpRemove')}</summary>${postForm(`${accountPath(request)}/totp/remove`, html`<p>${t('totpRemoveText')}</p><button class="danger">${t('totpRemove')}</button>`)}</details>`
  const off = html`<p>${t('totpOff')}</p>${postForm(`${accountPath(request)}/totp`, html`<button>${t('totpStart')}</button>`)}`
  return html`<section class="card"><h2>${t('totpTitle')}</h2>${user.hasTotp ? on : off}</section>`
}

function passkeySection(request: AreaRequest, passkeys: Passkeys): Html {
  const { app, texts, postForm } = request
  const { t } = texts
  const removal = (id: string, name: string) =>
    html`<details><summary>${t('change')}</summary>${postForm(`${accountPath(request)}/passkeys/${id}/remove`, html`<p>${t('passkeyRemoveText', { name })}</p><button class="danger small">${t('passkeyRemove')}</button>`)}</details>`
  const list = table(
    t('passkeysTitle'),
    [
      { label: t('passkeyName'), isTitle: true, cell: ({ name }) => written(name) },
      { label: t('created'), cell: ({ createdAt }) => texts.time(createdAt.toISOString()) },
      { label: t('passkeyUsed'), cell: ({ lastUsedAt }) => texts.time(lastUsedAt?.toISOString() ?? null) },
      { label: t('actions'), cell: ({ id, name }) => removal(id, name) },
    ],
    passkeys,
  )
  const add = offersPasskeys(app)
    ? html`<p><a class="button plain" href="${accountPath(request)}/passkeys/new">${t('passkeyNew')}</a></p>`
    : html`<p class="hint">${t('passkeyNeedsName')}</p>`
  return html`<h2>${t('passkeysTitle')}</h2><p>${t('passkeyText')}</p>${passkeys.length > 0 && list}${add}`
}

function sessionSection(request: AreaRequest, sessions: Sessions): Html {
  const { texts, principal, postForm } = request
  const { t } = texts
  const endForm = (id: string) =>
    postForm(
      `${accountPath(request)}/sessions/${id}/end`,
      html`<button class="plain small">${t('signOut')}</button>`,
    )
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
  )}${sessions.length > 1 && postForm(`${accountPath(request)}/end-other-sessions`, html`<button class="plain">${t('endOthers')}</button>`)}`
}
