// The error page for payers: in their language, without details that could help an attacker.

import { paletteOf } from '../kit/http/accent.ts'
import { html } from '../kit/http/html.ts'
import type { ErrorPage } from '../kit/http/route.ts'
import { statusIcon } from './checkout/components.ts'
import { chooseLanguage, languagesFromCookies } from './language.ts'
import { renderPage } from './layout.ts'
import type { MessageId } from './locales/en.ts'
import { translatorFor } from './translator.ts'

type ErrorPageInput = Parameters<ErrorPage>[0]

export function errorPage({ isTest }: { isTest: boolean }): ErrorPage {
  return (input) => {
    const { chosen, last } = languagesFromCookies(input.cookies)
    const accept = input.headers['accept-language']
    const hints = { chosen: input.query.lang ?? chosen, last, accept, merchant: null, country: null }
    const translator = translatorFor(chooseLanguage(hints), null)
    const kind = kindOf(input)
    const [title, text] = MESSAGES[kind]
    const checkoutPath =
      kind === 'notFound' || kind === 'linkNotFound'
        ? null
        : (/^\/(?:pay|l)\/[0-9A-Za-z]{1,100}(?=\/|$)/.exec(input.path)?.[0] ?? null)
    return {
      http: input.http,
      html: renderPage({
        title: translator.t(title),
        translator,
        styleNonce: input.styleNonce,
        isTest,
        palette: paletteOf(null),
        merchant: null,
        languageLinks: checkoutPath ?? '',
        hasScript: false,
        body: html`<section class="sheet narrow">${statusIcon('attention')}<h1>${translator.t(title)}</h1><p>${translator.t(text)}</p>
${checkoutPath !== null && html`<a class="button" href="${checkoutPath}">${translator.t('backToPayment')}</a>`}
<p class="dim">${translator.t('requestId', { id: input.requestId })}</p></section>`,
      }),
    }
  }
}

type Kind = 'notFound' | 'linkNotFound' | 'missing' | 'busy' | 'error' | 'refused'

const MESSAGES: Readonly<Record<Kind, readonly [MessageId, MessageId]>> = {
  notFound: ['notFoundTitle', 'notFoundText'],
  linkNotFound: ['linkNotFoundTitle', 'notFoundText'],
  missing: ['missingTitle', 'missingText'],
  busy: ['busyTitle', 'busyText'],
  error: ['errorTitle', 'errorText'],
  refused: ['refusedTitle', 'refusedText'],
}

function kindOf({ apiError, http, path }: ErrorPageInput): Kind {
  if (apiError.code === 'payment_not_found' || (http === 404 && path.startsWith('/pay/'))) return 'notFound'
  if (http === 404 && path.startsWith('/l/')) return 'linkNotFound'
  if (http === 404) return 'missing'
  if (http === 429 || http === 503) return 'busy'
  return http >= 500 ? 'error' : 'refused'
}
