// The page of the link that resets a password. The person signs in afterwards, with the second factor if there is one.

import { html } from '../../kit/http/html.ts'
import type { PageResponse, PageRoute } from '../../kit/http/route.ts'
import { resetPassword } from '../../people/accounts.ts'
import type { DashboardApp } from '../app.ts'
import { field } from '../frame/components.ts'
import { entryGet, entryPost, type Refusal, showEntryPage, textsOf } from '../frame/entry-page.ts'
import { APP_PATH, originOf, type PageRequest, SIGN_IN_PATH } from '../frame/request.ts'

const PATH = `${APP_PATH}/reset/{token}`

export function resetPasswordRoutes(app: DashboardApp): PageRoute[] {
  return [
    entryGet(PATH, async (request) => resetPage(app, request)),
    entryPost(
      app,
      PATH,
      async (request) => {
        const { token = '' } = request.params
        await resetPassword(app, token, request.form.password ?? '', originOf(app, request))
        return { http: 303, redirectTo: `${SIGN_IN_PATH}?done=reset` }
      },
      async (request, refusal) => resetPage(app, request, refusal),
    ),
  ]
}

/** It does not say whether the link is valid: only its use does. */
function resetPage(app: DashboardApp, request: PageRequest, refusal?: Refusal): PageResponse {
  const texts = textsOf(request)
  const { t } = texts
  const body = html`<form method="post" action="${APP_PATH}/reset/${request.params.token}">
${field('password', t('newPassword'), { type: 'password', isRequired: true, autocomplete: 'new-password', hint: t('passwordHint') })}
<button>${t('resetButton')}</button></form>`
  return showEntryPage(app, request, { title: t('resetTitle'), texts, body, refusal })
}
