// What a payer sees when there is nothing to show: in their language, without a detail that could help a stranger.

import { html } from '../kit/html.ts'
import type { ErrorPage } from '../kit/route.ts'
import { paletteOf } from './accent.ts'
import { sign } from './checkout/pieces.ts'
import { chooseLanguage, rememberedLanguages } from './language.ts'
import { renderPage } from './layout.ts'
import { speechOf } from './speech.ts'
import type { WordId } from './words/en.ts'

type Wrong = Parameters<ErrorPage>[0]

export function errorPage({ isTest }: { isTest: boolean }): ErrorPage {
  return (input) => {
    const { chosen, last } = rememberedLanguages(input.cookies)
    const accept = input.headers['accept-language']
    const hints = { chosen: input.query.lang ?? chosen, last, accept, merchant: null, country: null }
    const speech = speechOf(chooseLanguage(hints), null)
    const kind = kindOf(input)
    const [title, words] = WORDS[kind]
    const checkoutPath =
      kind === 'notFound' || kind === 'linkNotFound'
        ? null
        : (/^\/(?:pay|l)\/[0-9A-Za-z]{1,100}(?=\/|$)/.exec(input.path)?.[0] ?? null)
    return {
      http: input.http,
      html: renderPage({
        title: speech.say(title),
        speech,
        styleNonce: input.styleNonce,
        isTest,
        palette: paletteOf(null),
        merchant: null,
        languageLinks: checkoutPath ?? '',
        hasScript: false,
        body: html`<section class="sheet narrow">${sign('attention')}<h1>${speech.say(title)}</h1><p>${speech.say(words)}</p>
${checkoutPath !== null && html`<a class="button" href="${checkoutPath}">${speech.say('backToPayment')}</a>`}
<p class="dim">${speech.say('requestId', { id: input.requestId })}</p></section>`,
      }),
    }
  }
}

type Kind = 'notFound' | 'linkNotFound' | 'missing' | 'busy' | 'error' | 'refused'

const WORDS: Readonly<Record<Kind, readonly [WordId, WordId]>> = {
  notFound: ['notFoundTitle', 'notFoundText'],
  linkNotFound: ['linkNotFoundTitle', 'notFoundText'],
  missing: ['missingTitle', 'missingText'],
  busy: ['busyTitle', 'busyText'],
  error: ['errorTitle', 'errorText'],
  refused: ['refusedTitle', 'refusedText'],
}

function kindOf({ refusal, http, path }: Wrong): Kind {
  if (refusal.code === 'payment_not_found' || (http === 404 && path.startsWith('/pay/'))) return 'notFound'
  if (http === 404 && path.startsWith('/l/')) return 'linkNotFound'
  if (http === 404) return 'missing'
  if (http === 429 || http === 503) return 'busy'
  return http >= 500 ? 'error' : 'refused'
}
