// A lost password: the link that resets it is sent by mail. The page is the same whether there is such an account.

import { html } from '../../kit/http/html.ts'
import type { PageResponse, PageRoute } from '../../kit/http/route.ts'
import { requestPasswordReset } from '../../people/accounts.ts'
import type { DashboardApp } from '../app.ts'
import { field, notice } from '../frame/components.ts'
import { entryGet, entryPost, type Refusal, showEntryPage, textsOf } from '../frame/entry-page.ts'
import { APP_PATH, originOf, type PageRequest, SIGN_IN_PATH } from '../frame/request.ts'
import { mailReset } from '../mails.ts'

export const LOST_PATH = `${APP_PATH}/lost-password`

export function lostPasswordRoutes(app: DashboardApp): PageRoute[] {
  return [
    entryGet(LOST_PATH, async (request) => lostPasswordPage(app, request)),
    entryPost(
      app,
      LOST_PATH,
      (request) => requestMail(app, request),
      async (request, refusal) => lostPasswordPage(app, request, refusal),
    ),
  ]
}

function lostPasswordPage(app: DashboardApp, request: PageRequest, refusal?: Refusal): PageResponse {
  const texts = textsOf(request)
  const { t } = texts
  const form = html`<p>${t('lostText')}</p><form method="post" action="${LOST_PATH}">
${field('email', t('email'), { type: 'email', value: request.form.email ?? '', isRequired: true, autocomplete: 'username' })}
<button>${t('lostButton')}</button></form>`
  const content = app.mailer ? form : html`<p>${t('lostNoMail')}</p>`
  const sent = request.query.done === 'sent' && notice('good', html`<p>${t('lostSent')}</p>`)
  const body = html`${sent || content}<p><a href="${SIGN_IN_PATH}">${t('backToSignIn')}</a></p>`
  return showEntryPage(app, request, { title: t('lostTitle'), texts, body, refusal })
}

async function requestMail(app: DashboardApp, request: PageRequest): Promise<PageResponse> {
  if (!app.mailer) return { http: 303, redirectTo: LOST_PATH }
  const createReset = await requestPasswordReset(app, request.form.email ?? '', originOf(app, request))
  const texts = textsOf(request)
  // Later: the time of the response must not say whether there is an account.
  app.background.run(async () => {
    const reset = await createReset()
    if (reset) await mailReset(app, reset, texts)
  })
  return { http: 303, redirectTo: `${LOST_PATH}?done=sent` }
}
