// The frame of every screen: test bar, search, menu, and the person. Nothing is loaded from other servers.

import { LANGUAGES } from '../../core/languages.ts'
import { withoutControls } from '../../core/text/direction.ts'
import { type Html, html } from '../../kit/http/html.ts'
import type { OperationId } from '../../kit/http/route.ts'
import type { TextId } from '../locales/en.ts'
import { SCRIPT, STYLE } from './assets.ts'
import type { Person } from './screen.ts'
import { DASHBOARD_LANGUAGES, type Texts } from './texts.ts'

interface MenuItem {
  path: string
  text: TextId
  needs: readonly OperationId[]
  /** The letter after g. */
  key: string
}

export const MENU: readonly MenuItem[] = [
  { path: '/app', text: 'menuHome', needs: [], key: 'h' },
  { path: '/app/payments', text: 'menuPayments', needs: ['payments.listAll'], key: 'p' },
  { path: '/app/refunds', text: 'menuRefunds', needs: ['refunds.list'], key: 'r' },
  { path: '/app/cases', text: 'menuCases', needs: ['cases.list'], key: 'c' },
  { path: '/app/customers', text: 'menuCustomers', needs: ['customers.list'], key: 'u' },
  { path: '/app/wallet', text: 'menuWallet', needs: ['wallet.listTransactions'], key: 'w' },
]

export interface Frame {
  title: string
  texts: Texts
  isTest: boolean
  body: Html
  /** Null before the sign-in. */
  inside: {
    person: Person
    path: string
    search: string
    allows(operationId: OperationId): boolean
    signOut: Html
  } | null
}

export function renderFrame({ title, texts, isTest, body, inside }: Frame): string {
  const { language, direction, t } = texts
  return html`<!doctype html>
<html lang="${language}" dir="${direction}">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="robots" content="noindex">
<meta name="format-detection" content="telephone=no">
<link rel="icon" href="data:,">
<title>${title} · Cowry</title>
<link rel="stylesheet" href="${STYLE.path}" integrity="${STYLE.integrity}">
<script src="${SCRIPT.path}" integrity="${SCRIPT.integrity}" defer></script>
</head>
<body>
<a class="skip" href="#main">${t('skip')}</a>
${isTest && html`<div class="test-bar">${t('testBar')}</div>`}
${inside ? top(inside, texts) : null}
${inside ? html`<div class="shell">${menu(inside, texts)}<main id="main">${body}</main></div>` : html`<main id="main" class="entry">${body}</main>`}
<footer class="foot">${inside && html`<p>${t('zoneNote', { zone: texts.zone })}</p>`}
<ul>${DASHBOARD_LANGUAGES.map(
    (code) =>
      html`<li><a href="?lang=${code}" lang="${code}" hreflang="${code}"${code === language && html` aria-current="true"`}>${LANGUAGES[code].name}</a></li>`,
  )}</ul></footer>
</body>
</html>
`.toString()
}

type Inside = NonNullable<Frame['inside']>

function top({ person, search, signOut }: Inside, { t }: Texts): Html {
  return html`<header class="top"><a class="brand" href="/app"><bdi>${withoutControls(person.merchant.name)}</bdi></a>
<form class="find" action="/app/search" method="get" role="search"><label class="visually-hidden" for="find">${t('find')}</label>
<input id="find" name="q" type="search" value="${search}" placeholder="${t('findHint')}" maxlength="100"><button class="plain">${t('findGo')}</button></form>
<div class="who"><a href="/app/account"><bdi>${withoutControls(person.name)}</bdi></a>${signOut}</div></header>`
}

function menu({ path, allows }: Inside, { t }: Texts): Html {
  const items = MENU.filter(({ needs }) => needs.every(allows))
  const current = items
    .filter((item) => path === item.path || (item.path !== '/app' && path.startsWith(`${item.path}/`)))
    .at(-1)
  return html`<nav class="menu" aria-label="${t('menu')}"><ul>${items.map(
    (item) =>
      html`<li><a href="${item.path}" data-key="${item.key}"${item === current && html` aria-current="page"`}>${t(item.text)}</a></li>`,
  )}</ul></nav>`
}
