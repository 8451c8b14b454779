// The frame of a person who is signed in: who they are, what their menu has, the form that signs them out, and errors.

import { API_ERRORS, ApiError } from '../../core/errors.ts'
import { hmacSha256 } from '../../kit/crypto.ts'
import { type Html, html } from '../../kit/http/html.ts'
import type { PageResponse } from '../../kit/http/route.ts'
import type { PeopleError } from '../../people/errors.ts'
import type { Principal } from '../../people/sessions.ts'
import type { AreaApp, DashboardApp, OpsApp } from '../app.ts'
import type { TextId } from '../locales/en.ts'
import type { Area } from './area.ts'
import { notice } from './components.ts'
import { renderFrame } from './layout.ts'
import { languageOf, type PageHead } from './request.ts'
import type { AreaRequest } from './screen.ts'
import { type Texts, textsFor } from './texts.ts'

/** A person who is signed in and sees a page. */
export interface Insider extends Pick<AreaRequest, 'principal' | 'texts' | 'allows'> {
  /** The name of the merchant, or of the area of operators. */
  brand: string
}

/** Who has chosen a merchant. */
export type Member = Principal & {
  merchant: NonNullable<Principal['merchant']>
  role: NonNullable<Principal['role']>
}

export function hasMerchant(principal: Principal): principal is Member {
  return principal.merchant !== null && principal.role !== null && principal.role !== 'operator'
}

type Allows = AreaRequest['allows']

export function memberRights({ operations }: DashboardApp): (person: Pick<Principal, 'scopes'>) => Allows {
  return (person) => (operationId) => operations.allows(person, operationId)
}

/** Operators may do everything that there is in this environment. */
export function operatorRights({ operations }: OpsApp): Allows {
  return (operationId) => operations.has(operationId)
}

export async function memberInside(app: DashboardApp, request: PageHead, member: Member): Promise<Insider> {
  const { merchant, user } = member
  return {
    ...{ principal: member, brand: merchant.name },
    texts: textsFor(languageOf(request, user.language), await app.timeZoneOf(merchant.id)),
    allows: memberRights(app)(member),
  }
}

/** Its times are in UTC: it shows many merchants. */
export function operatorInside(app: OpsApp, request: PageHead, principal: Principal): Insider {
  const texts = textsFor(languageOf(request, principal.user.language), 'UTC')
  const brand = texts.t('opsBrand')
  return { principal, texts, brand, allows: operatorRights(app) }
}

/** Also for the merchant: a form that another tab still shows of the one chosen before must not act on this one. */
export function csrfToken({ peopleKey }: AreaApp, { sessionId, merchant }: Principal): string {
  return hmacSha256(peopleKey, `csrf:${sessionId}:${merchant?.id ?? ''}`).toString('base64url')
}

export function postForm(
  action: string,
  fields: Html,
  { csrf, submission, hasFiles }: { csrf: string; submission: string; hasFiles: boolean },
): Html {
  return html`<form${hasFiles && html` enctype="multipart/form-data"`} method="post" action="${action}"><input type="hidden" name="csrf" value="${csrf}"><input type="hidden" name="submission" value="${submission}">
${fields}</form>`
}

interface ShownPage {
  title: string
  body: Html
  http?: number
}

export function showInside(
  app: AreaApp,
  { path, query }: PageHead,
  { principal, texts, brand, allows }: Insider,
  { title, body, http = 200 }: ShownPage,
): PageResponse {
  const { area } = app
  const hidden = { csrf: csrfToken(app, principal), submission: app.random.uuid(), hasFiles: false }
  const button = html`<button class="plain small">${texts.t('signOut')}</button>`
  const signOut = postForm(`${area.path}/sign-out`, button, hidden)
  const inside = { brand, person: principal.user, path, search: query.q ?? '', allows, signOut }
  const address = { path, query }
  const page = { area, title, texts, isTest: app.mode === 'test', body, inside, address }
  return { http, html: renderFrame(page), allowsPasskeys: true }
}

/** The words of the dashboard for errors of its own; for others, those of the status or of the API. */
const ERROR_TEXTS: Partial<Record<string, TextId>> = {
  insufficient_scope: 'noRightText',
  not_allowed: 'noRightText',
  browser_not_allowed: 'problemForged',
  form_used: 'people_form_used',
  rate_limited: 'problemTooMany',
}

export function describeError({ t }: Texts, error: ApiError | PeopleError, requestId: string) {
  const http = error instanceof ApiError ? API_ERRORS[error.code].http : error.http
  const own = ERROR_TEXTS[error.code] ?? (http === 404 ? 'notFoundText' : http >= 500 && 'problemText')
  const title =
    own === 'noRightText' ? t('noRightTitle') : http === 404 ? t('notFoundTitle') : t('problemTitle')
  return { title, http, text: own ? t(own, { id: requestId }) : error.message }
}

export function errorBody(
  { t }: Texts,
  { title, text }: { title: string; text: string },
  { path }: Area,
): Html {
  return html`<div class="head"><h1>${title}</h1></div>${notice('bad', html`<p>${text}</p>`)}<p><a href="${path}">${t('goHome')}</a></p>`
}
