// Asks again who the person is, before what must not be done with a session that was left open or stolen. A form that was
// submitted waits in hidden fields, and the confirmation continues it.

import { type Html, html } from '../../kit/http/html.ts'
import { accountOf } from '../../people/accounts.ts'
import { PeopleError } from '../../people/errors.ts'
import type { Principal } from '../../people/sessions.ts'
import { field, notice } from './components.ts'
import { passkeyAnswer, passkeyCookie, passkeyFields } from './passkey-form.ts'
import type { AreaRequest, Screen, ScreenResponse } from './screen.ts'

/** Below the path of the area. */
export const CONFIRM_PATH = '/confirm'

// Of the confirmation itself, and of every form.
const NOT_CONTINUED = new Set([
  'confirmed',
  'confirmPassword',
  'confirmCode',
  'passkey',
  'csrf',
  'submission',
])

type Step = { ask: ScreenResponse } | { token: string; principal: Principal }

/** Undefined if the screen needs no confirmation now; the new token of the session if the person has just confirmed. */
export async function stepUp<Request extends AreaRequest>(
  { method, stepUp: when, secretsAt }: Screen<Request>,
  request: Request,
  address: string,
): Promise<Step | undefined> {
  const { app, base, principal, origin, form } = request
  const account = accountOf(app, principal, origin)
  if (account.isRecentlyAuthenticated()) return undefined
  if (typeof when === 'function' && !(await when(request))) return undefined
  const next = method === 'GET' ? address : secretsAt?.(request)
  if (next !== undefined) return { ask: await askPage(request, `${base}${CONFIRM_PATH}`, { next }) }
  if (form.confirmed === undefined) return { ask: await askPage(request, address, form) }
  try {
    const token = await confirm(request)
    return { token, principal: { ...principal, authenticatedAt: app.clock.now() } }
  } catch (error) {
    if (!(error instanceof PeopleError)) throw error
    return { ask: await askPage(request, address, form, error) }
  }
}

function confirm(request: AreaRequest): Promise<string> {
  const { app, principal, origin, form } = request
  const account = accountOf(app, principal, origin)
  return form.confirmed === 'passkey'
    ? account.confirmWithPasskey(passkeyAnswer(app, request))
    : account.confirm({ password: form.confirmPassword, code: form.confirmCode })
}

async function askPage(
  request: AreaRequest,
  action: string,
  continued: Readonly<Record<string, string>>,
  problem?: PeopleError,
): Promise<ScreenResponse> {
  const { app, texts, postForm, form, principal, origin } = request
  const { t } = texts
  const hidden = Object.entries(continued)
    .filter(([name]) => !NOT_CONTINUED.has(name))
    .map(([name, value]) => html`<input type="hidden" name="${name}" value="${value}">`)
  const formOf = (by: 'yes' | 'passkey', fields: Html) =>
    postForm(
      action,
      html`<input type="hidden" name="confirmed" value="${by}">${hidden}${fields}`,
      form.submission,
    )
  const question = principal.user.hasPasskeys && (await accountOf(app, principal, origin).startConfirmation())
  const body = html`<div class="head"><h1>${t('codeTitle')}</h1></div>
${problem && notice('bad', html`<p>${texts.word('people', problem.code)}</p>`)}
<section class="card narrow"><p>${t('confirmText')}</p>${formOf('yes', questionOf(request, problem))}${question && formOf('passkey', html`${passkeyFields('get', question, texts)}<button class="plain">${t('passkeyUse')}</button>`)}</section>`
  const cookies = question ? [passkeyCookie(app, question)] : []
  return { title: t('codeTitle'), body, http: problem?.http ?? 403, cookies }
}

function questionOf(
  { app, principal, origin, texts: { t } }: AreaRequest,
  problem: PeopleError | undefined,
): Html {
  const button = html`<button>${t('confirmButton')}</button>`
  const isWrong = problem?.http === 401 && problem.code !== 'passkey_refused'
  switch (accountOf(app, principal, origin).confirmation()) {
    case 'code':
      return html`${field('confirmCode', t('code'), { hint: t('codeText'), isRequired: true, autocomplete: 'one-time-code', ...(isWrong && { error: t('people_second_factor_failed') }) })}${button}`
    case 'password':
      return html`${field('confirmPassword', t('password'), { type: 'password', isRequired: true, autocomplete: 'current-password', ...(isWrong && { error: t('confirmWrong') }) })}${button}`
    case 'none_needed':
      return html`<p>${t('confirmDemo')}</p>${button}`
    case 'impossible':
      return principal.user.hasPasskeys ? html`` : html`<p>${t('confirmImpossible')}</p>`
  }
}
