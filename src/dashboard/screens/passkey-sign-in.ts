// Signing in with a passkey, in either area: instead of the password, or instead of the code after it.

import { html } from '../../kit/http/html.ts'
import type { PageResponse, PageRoute } from '../../kit/http/route.ts'
import { PeopleError } from '../../people/errors.ts'
import { passkeySignIn } from '../../people/passkeys.ts'
import type { AreaApp } from '../app.ts'
import { signInPathOf } from '../frame/area.ts'
import { cookie } from '../frame/cookies.ts'
import {
  begin,
  entryGet,
  entryPost,
  type Refusal,
  refusalOf,
  safeNext,
  showEntryPage,
  textsOf,
} from '../frame/entry-page.ts'
import { passkeyAnswer, passkeyCookie, passkeyFields } from '../frame/passkey-form.ts'
import { originOf, type PageRequest } from '../frame/request.ts'
import { passkeyPathOf, signInPage } from './sign-in.ts'

export function passkeySignInRoutes(app: AreaApp): PageRoute[] {
  const path = passkeyPathOf(app)
  return [
    entryGet(path, (request) => passkeyPage(app, request)),
    entryPost(
      app,
      path,
      (request) => enter(app, request),
      (request, refusal) => passkeyPage(app, request, refusal),
    ),
  ]
}

async function passkeyPage(app: AreaApp, request: PageRequest, refusal?: Refusal): Promise<PageResponse> {
  const texts = textsOf(request)
  const { t } = texts
  const next = request.form.next ?? request.query.next ?? ''
  try {
    const question = await passkeySignIn.start(app, originOf(app, request))
    // After a refusal the person presses the button: the script would ask again and again.
    const fields = passkeyFields('get', question, texts, refusal === undefined)
    const body = html`<p>${t('passkeySignInText')}</p><form method="post" action="${passkeyPathOf(app)}"><input type="hidden" name="next" value="${next}">
${fields}<button>${t('passkeyUse')}</button></form><p><a href="${signInPathOf(app.area)}?next=${encodeURIComponent(next)}">${t('passkeyPassword')}</a></p>`
    const address = { path: passkeyPathOf(app), query: { next } }
    const page = showEntryPage(app, request, { title: t('passkeySignIn'), texts, body, refusal, address })
    return { ...page, cookies: [passkeyCookie(app, question)] }
  } catch (error) {
    if (!(error instanceof PeopleError)) throw error
    return signInPage(app, request, refusalOf(error, texts))
  }
}

async function enter(app: AreaApp, request: PageRequest): Promise<PageResponse> {
  const answer = { ...passkeyAnswer(app, request), kind: app.area.kind }
  const session = await passkeySignIn.finish(app, answer, originOf(app, request))
  const { cookies = [], ...response } = begin(app, session, safeNext(app, request.form.next))
  return { ...response, cookies: [...cookies, cookie(app, 'passkey', '', 0)] }
}
