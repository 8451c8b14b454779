// The frame of every screen: test bar, search, menu, and the person. Nothing is loaded from other servers.

import { LANGUAGES } from '../../core/languages.ts'
import { withoutControls } from '../../core/text/direction.ts'
import { type Html, html } from '../../kit/http/html.ts'
import type { OperationId } from '../../kit/http/route.ts'
import type { Address, Area, MenuItem } from './area.ts'
import { SCRIPT, STYLE } from './assets.ts'
import { DASHBOARD_LANGUAGES, type DashboardLanguage, type Texts } from './texts.ts'

export const MENU: readonly MenuItem[] = [
  { path: '/app', text: 'menuHome', needs: [], key: 'h' },
  { path: '/app/payments', text: 'menuPayments', needs: ['payments.listAll'], key: 'p' },
  { path: '/app/refunds', text: 'menuRefunds', needs: ['refunds.list'], key: 'r' },
  { path: '/app/disputes', text: 'menuDisputes', needs: ['disputes.list'], key: 't' },
  { path: '/app/cases', text: 'menuCases', needs: ['cases.list'], key: 'c' },
  { path: '/app/customers', text: 'menuCustomers', needs: ['customers.list'], key: 'u' },
  { path: '/app/wallet', text: 'menuWallet', needs: ['wallet.listTransactions'], key: 'w' },
  { path: '/app/reports', text: 'menuReports', needs: ['reports.collections'], key: 'o' },
  { path: '/app/reconciliations', text: 'opsFilesTitle', needs: ['reconciliations.list'], key: 'n' },
  { path: '/app/links', text: 'menuLinks', needs: ['paymentLinks.list'], key: 'l' },
  { path: '/app/p2p', text: 'menuP2p', needs: ['p2pPayments.list'], key: 'x' },
  { path: '/app/developers', text: 'menuDevelopers', needs: ['events.list'], key: 'd' },
  { path: '/app/settings', text: 'menuSettings', needs: ['settings.get'], key: 's' },
  // Every role reads the team.
  { path: '/app/team', text: 'menuTeam', needs: [], key: 'm' },
  { path: '/app/audit', text: 'menuAudit', needs: ['audit.list'], key: 'a' },
]

/** The area of a merchant's people. */
export const APP: Area = { path: '/app', kind: 'member', cookiePrefix: 'cowry', menu: MENU }

export interface Frame {
  area: Area
  title: string
  texts: Texts
  isTest: boolean
  body: Html
  /** Where the page is in another language: GET of it works, also if the page is the answer to a form. */
  address: Address
  /** Null before the sign-in. */
  inside: {
    /** The name of the merchant, or of the area of operators. */
    brand: string
    person: { name: string }
    path: string
    search: string
    allows(operationId: OperationId): boolean
    signOut: Html
  } | null
}

/** Without a referrer browsers would send forms with the origin null, which the guard refuses. */
export function renderFrame({ area, title, texts, isTest, body, inside, address }: Frame): string {
  const { language, direction, t } = texts
  return html`<!doctype html>
<html lang="${language}" dir="${direction}">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="robots" content="noindex">
<meta name="referrer" content="same-origin">
<meta name="format-detection" content="telephone=no">
<link rel="icon" href="data:,">
<title>${isTest && html`${t('testTitle')} · `}${title} · Cowry</title>
<link rel="stylesheet" href="${STYLE.path}" integrity="${STYLE.integrity}">
<script src="${SCRIPT.path}" integrity="${SCRIPT.integrity}" defer></script>
</head>
<body${area.kind === 'operator' && html` class="ops"`}>
<a class="skip" href="#main">${t('skip')}</a>
${isTest && html`<aside class="test-bar" aria-label="${t('testTitle')}">${t('testBar')}</aside>`}
${inside ? top(area, inside, texts) : null}
${inside ? html`<div class="shell">${menu(area, inside, texts)}<main id="main">${body}</main></div>` : html`<main id="main" class="entry">${body}</main>`}
<footer class="foot">${inside && html`<p>${t('zoneNote', { zone: texts.zone })}</p>`}
<ul>${DASHBOARD_LANGUAGES.map(
    (code) =>
      html`<li><a href="${languageLink(address, code)}" lang="${code}" hreflang="${code}"${code === language && html` aria-current="true"`}>${LANGUAGES[code].name}</a></li>`,
  )}</ul></footer>
</body>
</html>
`.toString()
}

/** With the filters of the page. */
function languageLink({ path, query }: Address, lang: DashboardLanguage): string {
  return `${path}?${new URLSearchParams({ ...query, lang })}`
}

type Inside = NonNullable<Frame['inside']>

function top({ kind, path }: Area, { brand, person, search, signOut }: Inside, { t }: Texts): Html {
  const name = html`<bdi>${withoutControls(person.name)}</bdi>`
  return html`<header class="top"><a class="brand" href="${path}"><bdi>${withoutControls(brand)}</bdi></a>
${kind === 'member' && find(search, t)}<div class="who"><a href="${path}/account">${name}</a>${signOut}</div></header>`
}

function find(search: string, t: Texts['t']): Html {
  return html`<form class="find" action="/app/search" method="get" role="search"><label class="visually-hidden" for="find">${t('find')}</label>
<input id="find" name="q" type="search" value="${search}" placeholder="${t('findHint')}" maxlength="100"><button class="plain">${t('findGo')}</button></form>
`
}

function menu(area: Area, { path, allows }: Inside, { t, zone }: Texts): Html {
  const items = area.menu.filter(({ needs }) => needs.every(allows))
  const current = items
    .filter((item) => path === item.path || (item.path !== area.path && path.startsWith(`${item.path}/`)))
    .at(-1)
  // On phones the checkbox opens the menu, without a script.
  return html`<nav class="menu" aria-label="${t('menu')}"><input id="menu-open" type="checkbox"><label for="menu-open">${t('menu')}${current && html` <span class="dim">${t(current.text)}</span>`}</label><ul>${items.map(
    (item) =>
      html`<li><a href="${item.path}" data-key="${item.key}"${item === current && html` aria-current="page"`}>${t(item.text)}</a></li>`,
  )}</ul><p>${t('zoneNote', { zone })}</p></nav>`
}
