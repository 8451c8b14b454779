// The layout of every page: test bar, merchant, summary, help, languages. Nothing is loaded from other servers.

import { LANGUAGE_CODES, LANGUAGES } from '../core/languages.ts'
import { withoutControls } from '../core/text/direction.ts'
import type { Palette } from '../kit/http/accent.ts'
import { type Html, html, trustedHtml } from '../kit/http/html.ts'
import type { MerchantProfile } from '../merchants/profiles.ts'
import { SCRIPT } from './assets.ts'
import { STYLE } from './style.ts'
import type { Translator } from './translator.ts'

export interface PageFrame {
  title: string
  translator: Translator
  styleNonce: string
  isTest: boolean
  palette: Palette
  /** The merchant of the page; null for a page of Cowry itself. */
  merchant: MerchantProfile | null
  /** The URL to which the language switcher adds the language; null for a page in English only. */
  languageLinks: string | null
  hasScript: boolean
  /** Extra lines of the head, such as a refresh for browsers without JavaScript. */
  head?: Html
  body: Html
}

export function renderPage(frame: PageFrame): string {
  const { translator, styleNonce, isTest } = frame
  return html`<!doctype html>
<html lang="${translator.language}" dir="${translator.direction}">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="robots" content="noindex">
<meta name="format-detection" content="telephone=no">
<link rel="icon" href="data:,">
<title>${frame.title}</title>
<style nonce="${styleNonce}">${trustedHtml(coloursOf(frame.palette))}${trustedHtml(STYLE)}</style>
${frame.hasScript && html`<script src="${SCRIPT.path}" integrity="${SCRIPT.integrity}" defer></script>`}
${frame.head}
</head>
<body>
<header>${isTest && html`<div class="test">${translator.t('testMode')}</div>`}
<div class="brand">${frame.merchant ? merchantMark(frame.merchant) : COWRY_MARK}</div></header>
<main id="main">${frame.body}</main>
<footer>${frame.merchant && support(frame.merchant, translator)}${languages(frame)}
<p>${translator.t('securedBy')}</p></footer>
</body>
</html>
`.toString()
}

/** The colours come from accent.ts and are hexadecimal digits only. */
function coloursOf({ light, dark }: Palette): string {
  return `:root{--accent-light:${light.accent};--on-accent-light:${light.onAccent};--accent-dark:${dark.accent};--on-accent-dark:${dark.onAccent}}`
}

const COWRY_MARK = html`<span class="mono" aria-hidden="true">C</span><span>Cowry</span>`

function merchantMark({ id, name, logo }: MerchantProfile): Html {
  const mark = logo
    ? html`<img src="${logoPath(id, logo.digest)}" alt="" width="44" height="44">`
    : html`<span class="mono" aria-hidden="true">${firstLetter(name)}</span>`
  return html`${mark}<bdi>${withoutControls(name)}</bdi>`
}

function firstLetter(name: string): string {
  const [first] = new Intl.Segmenter().segment(withoutControls(name).trim())
  return first?.segment.toUpperCase() ?? ''
}

export function logoPath(merchantId: string, digest: string): string {
  return `/assets/logos/${merchantId}/${digest}`
}

function support({ name, support: { email, phone, url } }: MerchantProfile, translator: Translator): Html {
  return html`<p>${translator.t('help', { merchant: name })}${(email ?? phone ?? url) !== null && html`<br>`}
${email !== null && html`<a href="mailto:${mailbox(email)}"><bdi dir="ltr">${email}</bdi></a>`}
${phone !== null && html`<a href="tel:${phone}"><bdi dir="ltr">${phone}</bdi></a>`}
${url !== null && html`<a href="${url}" rel="noreferrer">${translator.t('helpWebsite')}</a>`}</p>`
}

/** Escaped for a mailto URL, where ? and & would begin other fields. */
function mailbox(email: string): string {
  return email.replace(/[^\w.@+-]/gu, encodeURIComponent)
}

/** Always shown, with each language name in its own language. */
function languages({ languageLinks, translator }: PageFrame): Html | null {
  if (languageLinks === null) return null
  return html`<nav aria-label="${translator.t('language')}"><ul>${LANGUAGE_CODES.map(
    (code) =>
      html`<li><a href="${languageLinks}${languageLinks.includes('?') ? '&' : '?'}lang=${code}" lang="${code}" hreflang="${code}" dir="${LANGUAGES[code].direction}"${code === translator.language && html` aria-current="true"`}>${LANGUAGES[code].name}</a></li>`,
  )}</ul></nav>`
}
