// The frame of every page of the site: header with search, menu, content, table of contents. It needs no script.

import { type Html, html, trustedHtml } from '../kit/http/html.ts'
import { SCRIPT, STYLE } from './assets.ts'
import type { Heading } from './markdown.ts'
import { type DocsPage, PAGE_GROUPS } from './pages.ts'

export interface DocsFrame {
  title: string
  summary: string
  /** The slug of the page in the menu; null for pages that are not in it. */
  slug: string | null
  headings: readonly Heading[]
  query?: string
  content: Html
}

export function renderFrame(frame: DocsFrame): string {
  const { title, summary, slug, content } = frame
  return html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="description" content="${summary}">
<meta name="color-scheme" content="light dark">
<link rel="icon" href="data:,">
<title>${title}</title>
<link rel="stylesheet" href="${STYLE.path}">
${slug !== null && html`<link rel="alternate" type="text/markdown" href="/docs/${slug}.md">`}
<script src="${SCRIPT.path}" defer></script>
</head>
<body>
<a class="skip" href="#content">Skip to the content</a>
<header class="top">
<a class="brand" href="/docs"><span class="mark" aria-hidden="true">C</span>Cowry <span class="light">docs</span></a>
<form class="search" role="search" action="/docs/search"><label class="hidden" for="q">Search the documentation</label>
<input id="q" name="q" type="search" maxlength="100" placeholder="Search" autocomplete="off" value="${frame.query ?? ''}"><button>Search</button>
<div id="found" hidden></div></form>
<a class="api" href="/docs/api">API reference</a>
<button class="open-menu" popovertarget="menu">Menu</button>
</header>
<div class="frame">
<nav id="menu" popover aria-label="Documentation">${slug === null ? MENU : menu(slug)}</nav>
<main id="content" tabindex="-1">${content}</main>
${tableOfContents(frame.headings)}
</div>
</body>
</html>
`.toString()
}

function menu(slug: string | null): Html {
  return html`<p class="home-of-api"><a href="/docs/api">API reference</a></p>${PAGE_GROUPS.map(
    ({
      title,
      pages,
    }) => html`<p class="group">${title}</p><ul>${pages.map((page) => menuLink(page, slug))}</ul>
`,
  )}`
}

function menuLink({ slug, title }: DocsPage, current: string | null): Html {
  return html`<li><a href="/docs/${slug}"${slug === current && trustedHtml(' aria-current="page"')}>${title}</a></li>`
}

/** Of the pages that are not in it, such as the results of a search, which are rendered at each request. */
const MENU = menu(null)

/** With more headings than this only the main ones are listed. */
const MAX_ENTRIES = 30

function tableOfContents(headings: readonly Heading[]): Html | null {
  const all = headings.filter(({ level }) => level <= 3)
  const shown = all.length > MAX_ENTRIES ? all.filter(({ level }) => level === 2) : all
  if (shown.length < 2) return null
  return html`<details class="contents"><summary>On this page</summary><nav aria-label="On this page"><ul>${shown.map(
    ({ level, id, text }) => html`<li class="level-${level}"><a href="#${id}">${text}</a></li>`,
  )}</ul></nav></details>`
}
