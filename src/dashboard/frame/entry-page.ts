// The pages before the sign-in: their frame, the problems that they show, and the cookies of a session that begins.

import { type Html, html } from '../../kit/http/html.ts'
import type { PageResponse, PageRoute } from '../../kit/http/route.ts'
import { PeopleError } from '../../people/errors.ts'
import type { StartedSession } from '../../people/sessions.ts'
import type { AreaApp } from '../app.ts'
import type { Address } from './area.ts'
import { notice } from './components.ts'
import { cookie } from './cookies.ts'
import { renderFrame } from './layout.ts'
import { changeLanguage, isForged, languageOf, type PageHead, type PageRequest } from './request.ts'
import { type Texts, textsFor } from './texts.ts'

const DEVICE_SECONDS = 180 * 86_400

/** What a page shows above its form: why the last submission was refused. */
export interface Refusal {
  text: string
  http: number
  retryAfterSeconds?: number
}

export interface EntryPage {
  title: string
  texts: Texts
  body: Html
  refusal?: Refusal
  /** Of the page in another language, if it is not that of the request. */
  address?: Address
}

export const textsOf = (request: PageHead, own?: string | null): Texts =>
  textsFor(languageOf(request, own), 'UTC')

export function showEntryPage(
  app: AreaApp,
  request: PageHead,
  { title, texts, body, refusal, address = request }: EntryPage,
): PageResponse {
  const card = html`<div class="card"><h1>${title}</h1>${refusal && notice('bad', html`<p>${refusal.text}</p>`)}${body}</div>`
  const seconds = refusal?.retryAfterSeconds
  return {
    http: refusal?.http ?? 200,
    allowsPasskeys: true,
    html: renderFrame({
      area: app.area,
      title,
      texts,
      isTest: app.mode === 'test',
      body: card,
      inside: null,
      address,
    }),
    ...(seconds !== undefined && { headers: { 'retry-after': String(seconds) } }),
  }
}

export function entryGet(path: string, show: (request: PageRequest) => Promise<PageResponse>): PageRoute {
  return { method: 'GET', path, handle: async (request) => changeLanguage(request) ?? show(request) }
}

/** Forms of other sites are refused; what src/people refuses is shown by the page of the form. */
export function entryPost(
  app: AreaApp,
  path: string,
  act: (request: PageRequest) => Promise<PageResponse>,
  refuse: (request: PageRequest, refusal: Refusal) => Promise<PageResponse>,
): PageRoute {
  return {
    method: 'POST',
    path,
    handle: async (request) => {
      const texts = textsOf(request)
      if (isForged(app, request)) return refuse(request, { text: texts.t('problemForged'), http: 403 })
      try {
        return await act(request)
      } catch (error) {
        if (!(error instanceof PeopleError)) throw error
        return refuse(request, refusalOf(error, texts))
      }
    },
  }
}

export function refusalOf({ code, http, retryAfterSeconds }: PeopleError, texts: Texts): Refusal {
  return { text: texts.word('people', code), http, retryAfterSeconds }
}

/** The response that begins a session. */
export function begin(
  app: AreaApp,
  { token, deviceToken }: StartedSession,
  redirectTo: string,
): PageResponse {
  const cookies = [
    cookie(app, 'session', token),
    cookie(app, 'device', deviceToken, DEVICE_SECONDS),
    cookie(app, 'pending', '', 0),
  ]
  return { http: 303, redirectTo, cookies }
}

/** Only our own screens: another address would send the person to a copy of the sign-in. */
export function safeNext({ area: { path } }: AreaApp, next: string | undefined): string {
  const isOurs = next !== undefined && /^\/\w+(?:[/?][\w\-./?=&%+:@]*)?$/.test(next)
  return isOurs && !next.includes('..') && next.split(/[/?]/)[1] === path.slice(1) ? next : path
}
