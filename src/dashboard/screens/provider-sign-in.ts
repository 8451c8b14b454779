// Signing in with the identity provider of the instance. The secrets of a sign-in are sealed in a cookie for ten minutes.

import type { Oidc } from '../../kit/http/oidc.ts'
import type { PageResponse, PageRoute } from '../../kit/http/route.ts'
import { PeopleError } from '../../people/errors.ts'
import { providerSignIn } from '../../people/identities/provider-sign-in.ts'
import type { DashboardApp } from '../app.ts'
import { cookie, cookieName } from '../frame/cookies.ts'
import { entryGet, refusalOf, safeNext, textsOf } from '../frame/entry-page.ts'
import { originOf, type PageRequest } from '../frame/request.ts'
import { continueSignIn, PROVIDER_PATH, signInPage } from './sign-in.ts'

/** None if no identity provider is configured. */
export function providerSignInRoutes(app: DashboardApp): PageRoute[] {
  const { oidc } = app
  if (!oidc) return []
  return [
    entryGet(PROVIDER_PATH, (request) => orSignInPage(app, request, () => start(app, oidc, request))),
    entryGet(`${PROVIDER_PATH}/return`, (request) =>
      orSignInPage(app, request, () => finish(app, oidc, request)),
    ),
  ]
}

async function start(app: DashboardApp, oidc: Oidc, request: PageRequest): Promise<PageResponse> {
  const { url, sealed, maxAgeSeconds } = await providerSignIn.start(
    app,
    oidc,
    safeNext(app, request.query.next),
  )
  return {
    http: 303,
    redirectTo: url,
    cookies: [cookie(app, 'provider', sealed, maxAgeSeconds)],
  }
}

async function finish(app: DashboardApp, oidc: Oidc, request: PageRequest): Promise<PageResponse> {
  const query = new URLSearchParams(request.query)
  const sealed = request.cookies[cookieName(app, 'provider')]
  const { result, next } = await providerSignIn.finish(app, oidc, { query, sealed }, originOf(app, request))
  return withoutSecrets(app, continueSignIn(app, result, next))
}

async function orSignInPage(
  app: DashboardApp,
  request: PageRequest,
  step: () => Promise<PageResponse>,
): Promise<PageResponse> {
  try {
    return await step()
  } catch (error) {
    if (!(error instanceof PeopleError)) throw error
    return withoutSecrets(app, await signInPage(app, request, refusalOf(error, textsOf(request))))
  }
}

/** The sealed secrets are for one return. */
function withoutSecrets(app: DashboardApp, response: PageResponse): PageResponse {
  return { ...response, cookies: [...(response.cookies ?? []), cookie(app, 'provider', '', 0)] }
}
