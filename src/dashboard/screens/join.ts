// The page of an invitation: a new person chooses a name and a password, one with an account signs in and accepts.

import { type Html, html } from '../../kit/http/html.ts'
import type { PageResponse, PageRoute } from '../../kit/http/route.ts'
import { accountOf } from '../../people/accounts.ts'
import { PeopleError } from '../../people/errors.ts'
import { acceptAsMember, acceptWithNewAccount, showInvitation } from '../../people/invitations.ts'
import type { DashboardApp } from '../app.ts'
import { field } from '../frame/components.ts'
import {
  begin,
  entryGet,
  entryPost,
  type Refusal,
  refusalOf,
  showEntryPage,
  textsOf,
} from '../frame/entry-page.ts'
import {
  APP_PATH,
  languageOf,
  originOf,
  type PageRequest,
  readPrincipal,
  SIGN_IN_PATH,
} from '../frame/request.ts'
import type { Texts } from '../frame/texts.ts'
import { OPS } from '../ops/area.ts'

const PATH = `${APP_PATH}/join/{token}`

export function joinRoutes(app: DashboardApp): PageRoute[] {
  return [
    entryGet(PATH, (request) => joinPage(app, request)),
    entryPost(
      app,
      PATH,
      (request) => join(app, request),
      (request, refusal) => joinPage(app, request, refusal),
    ),
  ]
}

async function joinPage(app: DashboardApp, request: PageRequest, refusal?: Refusal): Promise<PageResponse> {
  const texts = textsOf(request)
  const { t } = texts
  const title = t('joinTitle')
  try {
    const { email, hasAccount } = await showInvitation(app, request.params.token ?? '')
    const principal = await readPrincipal(app, request)
    const action = `${APP_PATH}/join/${request.params.token}`
    const own = html`<form method="post" action="${action}"><p>${t('joinAs', { email })}</p><button>${t('joinButton')}</button></form>`
    const signInFirst = html`<p>${t('joinSignIn', { email })}</p><p><a class="button" href="${SIGN_IN_PATH}?next=${encodeURIComponent(action)}">${t('signIn')}</a></p>`
    const fresh = html`<p>${t('joinText', { email })}</p><form method="post" action="${action}"><input type="hidden" name="email" value="${email}" autocomplete="username">
${field('name', t('yourName'), { value: request.form.name ?? '', isRequired: true, autocomplete: 'name' })}
${field('password', t('password'), { type: 'password', isRequired: true, autocomplete: 'new-password', hint: t('passwordHint') })}
<button>${t('joinButton')}</button></form>`
    const body = hasAccount ? ofAccount(email, principal?.user.email, { own, signInFirst, texts }) : fresh
    return showEntryPage(app, request, { title, texts, body, refusal })
  } catch (error) {
    if (!(error instanceof PeopleError)) throw error
    return showEntryPage(app, request, { title, texts, body: html``, refusal: refusalOf(error, texts) })
  }
}

/** A person who is signed in with another account would come back from the sign-in to this page. */
function ofAccount(
  email: string,
  signedInAs: string | undefined,
  { own, signInFirst, texts: { t } }: { own: Html; signInFirst: Html; texts: Texts },
): Html {
  if (signedInAs === undefined) return signInFirst
  if (signedInAs === email) return own
  return html`<p>${t('joinOther', { email, own: signedInAs })}</p><form method="post" action="${APP_PATH}/sign-out"><button>${t('signOut')}</button></form>`
}

const LONGEST_NAME = 100

async function join(app: DashboardApp, request: PageRequest): Promise<PageResponse> {
  const token = request.params.token ?? ''
  const invitation = await showInvitation(app, token)
  if (invitation.hasAccount) {
    const principal = await readPrincipal(app, request)
    if (!principal) throw new PeopleError('account_exists')
    await acceptAsMember(app, principal, token, originOf(app, request))
    if (invitation.merchantId !== null)
      await accountOf(app, principal, originOf(app, request)).choose(invitation.merchantId)
    return { http: 303, redirectTo: APP_PATH }
  }
  const name = (request.form.name ?? '').trim().slice(0, LONGEST_NAME) || invitation.email
  const input = { name, password: request.form.password ?? '', language: languageOf(request) }
  // The account of an operator begins in the other area, and a session in this one goes on.
  const entered = invitation.role === 'operator' ? { ...app, area: OPS } : app
  const session = await acceptWithNewAccount(app, token, input, originOf(entered, request))
  return begin(entered, session, entered.area.path)
}
