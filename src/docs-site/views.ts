// The contents of the site's pages: a guide, the home page, the results of a search, and an error.

import { type Html, html, trustedHtml } from '../kit/http/html.ts'
import { renderFrame } from './layout.ts'
import type { LibraryPage } from './library.ts'
import { DOCS_PAGES, type DocsPage, PAGE_GROUPS } from './pages.ts'
import { MAX_RESULTS, type SearchResult } from './search.ts'

/** Whether the service is in staging, where readers have test keys. */
export interface SiteMode {
  isTest: boolean
}

const titled = (title: string) => `${title} · Cowry docs`

export function guideView(page: LibraryPage, { isTest }: SiteMode): string {
  const { slug, title, summary, rendered } = page
  const hasKeyField = isTest && rendered.html.includes('data-fill="key"')
  return renderFrame({
    title: titled(title),
    summary,
    slug,
    headings: rendered.headings,
    content: html`<article>${hasKeyField ? withKeyField(rendered.html) : trustedHtml(rendered.html)}</article>
${neighbours(slug)}
<p class="source"><a href="/docs/${slug}.md">This page as markdown</a></p>`,
  })
}

/** Shown by the script. It is no form, so the key cannot be sent to the server. */
const KEY_FIELD = html`<div class="key" id="key" hidden><label for="key-value">Your test key, for the samples on this page</label>
<div><input id="key-value" type="password" autocomplete="off" spellcheck="false" placeholder="cowry_test_…"><button type="button" id="key-use">Use</button><button type="button" id="key-remove" hidden>Remove</button></div>
<p id="key-status" role="status">The key stays in this browser tab. It is never sent to the server by this page.</p></div>`

/** Before the first sample, so that the page begins with its title. */
function withKeyField(text: string): Html {
  const at = text.search(/<div class="(?:code|tabs)"/)
  return html`${trustedHtml(text.slice(0, at))}${KEY_FIELD}${trustedHtml(text.slice(at))}`
}

function neighbours(slug: string): Html {
  const at = DOCS_PAGES.findIndex((page) => page.slug === slug)
  const [before, after] = [DOCS_PAGES[at - 1], DOCS_PAGES[at + 1]]
  return html`<nav class="neighbours" aria-label="Previous and next page">${before && neighbour(before, 'prev', 'Previous')}${after && neighbour(after, 'next', 'Next')}</nav>`
}

function neighbour({ slug, title }: DocsPage, rel: 'prev' | 'next', label: string): Html {
  return html`<a rel="${rel}" href="/docs/${slug}"><small>${label}</small>${title}</a>`
}

export function homeView(): string {
  return renderFrame({
    title: 'Cowry docs',
    summary: 'Guides and reference of this payment collection service.',
    slug: null,
    headings: [],
    content: html`<article class="home"><h1>Collect payments with one API</h1>
<p class="lead">Cowry takes each payment to the gateway that serves its currency and country. These pages show how you use it from your own
program.</p>
<p class="actions">${startLink()}<a class="second" href="/docs/api">API reference</a></p>
${PAGE_GROUPS.map(
  ({ title, pages }) => html`<section><h2>${title}</h2><ul class="cards">${pages.map(
    (page) => html`<li><a href="/docs/${page.slug}">${page.title}</a><p>${page.summary}</p></li>`,
  )}</ul></section>
`,
)}<p class="source">For programs: <a href="/llms.txt">llms.txt</a>, <a href="/openapi.json">openapi.json</a>. Each page is also markdown: add
<code>.md</code> to its address.</p></article>`,
  })
}

function startLink(): Html | null {
  const first = DOCS_PAGES[0]
  return first ? html`<a class="first" href="/docs/${first.slug}">${first.title}</a>` : null
}

export function searchView(query: string, results: readonly SearchResult[]): string {
  return renderFrame({
    title: titled('Search'),
    summary: 'Search the documentation.',
    slug: null,
    headings: [],
    query,
    content: html`<article><h1>Search</h1>
<p role="status">${summarize(query, results.length)}</p>
<ol class="results">${results.map(
      ({ path, page, title, excerpt }) =>
        html`<li><a href="${path}">${title}</a>${page !== title && html` <small>${page}</small>`}<p>${excerpt}</p></li>`,
    )}</ol></article>`,
  })
}

function summarize(query: string, count: number): string {
  if (query === '') return 'Type a word into the search field above.'
  if (count === 0) return `No page contains “${query}”. Try another word, or fewer words.`
  if (count === MAX_RESULTS) return `The best ${count} results for “${query}”.`
  return `${count} ${count === 1 ? 'result' : 'results'} for “${query}”.`
}

export function errorView(http: number, message: string, requestId: string): string {
  const title = http === 404 ? 'There is no such page' : 'This did not work'
  return renderFrame({
    title: titled(title),
    summary: title,
    slug: null,
    headings: [],
    content: html`<article><h1>${title}</h1>
<p>${http === 404 ? 'The page may have been renamed. Search for it, or start at the home page.' : message}</p>
<p class="actions"><a class="first" href="/docs">Home of the documentation</a></p>
<p class="source">Request <code>${requestId}</code></p></article>`,
  })
}
