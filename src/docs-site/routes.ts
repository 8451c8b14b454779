// The routes of the documentation site. Pages do not depend on the reader, so browsers and proxies may keep them.

import { ApiError } from '../core/errors.ts'
import type { ErrorPage, PageResponse, PageRoute } from '../kit/http/route.ts'
import { assetRoutes } from './assets.ts'
import { createLibrary, type Library, readDocsFile } from './library.ts'
import { llmsText } from './llms.ts'
import { DOCS_FILES, findDocsPage } from './pages.ts'
import { createSearch, MAX_QUERY_LENGTH, type Search, searchIndex } from './search.ts'
import { errorView, guideView, homeView, type SiteMode, searchView } from './views.ts'

interface DocsSite extends SiteMode {
  publicUrl(): string
}

export function docsRoutes(site: DocsSite): PageRoute[] {
  const library = createLibrary(site.publicUrl)
  const kept = createKeeper()
  const findResults = createResultPages(library)
  return [
    { method: 'GET', path: '/docs', handle: () => kept('home', HTML, homeView) },
    { method: 'GET', path: '/docs/', handle: async () => ({ http: 303, redirectTo: '/docs' }) },
    {
      method: 'GET',
      path: '/docs/search',
      handle: async ({ query }) => ({ http: 200, html: await findResults(query.q ?? '') }),
    },
    {
      method: 'GET',
      path: '/docs/search.json',
      handle: () =>
        kept('index', 'application/json; charset=utf-8', async () => searchIndex(await library.loadAll())),
    },
    {
      method: 'GET',
      path: '/docs/files/{name}',
      handle: async ({ params: { name } }) => {
        const known = DOCS_FILES.find((one) => one.name === name)
        if (!known) throw new ApiError('route_not_found')
        return kept(`file ${known.name}`, known.type, () => readDocsFile(known.file))
      },
    },
    {
      method: 'GET',
      path: '/docs/{page}',
      handle: async ({ params: { page: address = '' } }) => {
        const isMarkdown = address.endsWith('.md')
        const known = findDocsPage(isMarkdown ? address.slice(0, -'.md'.length) : address)
        if (!known) throw new ApiError('route_not_found')
        return isMarkdown
          ? kept(`markdown ${known.slug}`, MARKDOWN, async () => (await library.load(known)).markdown)
          : kept(`page ${known.slug}`, HTML, async () => guideView(await library.load(known), site))
      },
    },
    {
      method: 'GET',
      path: '/docs/{page}/',
      handle: async ({ params: { page = '' } }) => {
        if (page !== 'api' && !findDocsPage(page)) throw new ApiError('route_not_found')
        return { http: 303, redirectTo: `/docs/${page}` }
      },
    },
    {
      method: 'GET',
      path: '/llms.txt',
      handle: () => kept('llms', 'text/plain; charset=utf-8', () => llmsText(site.publicUrl())),
    },
    // The home page as markdown: the same list.
    {
      method: 'GET',
      path: '/docs.md',
      handle: () => kept('home as markdown', MARKDOWN, () => llmsText(site.publicUrl())),
    },
    ...assetRoutes(),
  ]
}

const HTML = 'text/html; charset=utf-8'
const MARKDOWN = 'text/markdown; charset=utf-8'

type Keep = (
  name: string,
  type: string,
  make: () => string | Buffer | Promise<string | Buffer>,
) => Promise<PageResponse>

/** Each response is made at its first use and kept as one buffer, which is hashed and compressed once too. */
function createKeeper(): Keep {
  const made = new Map<string, PageResponse>()
  return async (name, type, make) => {
    const known = made.get(name)
    if (known) return known
    const response: PageResponse = {
      http: 200,
      cache: 'revalidate',
      content: { type, body: Buffer.from(await make()) },
    }
    made.set(name, response)
    return response
  }
}

/** About 3 MB. */
const MAX_RESULT_PAGES = 200

/** The pages with the results of recent queries, least recently used first. */
function createResultPages(library: Library): (query: string) => Promise<string> {
  const recent = new Map<string, string>()
  let search: Search | undefined
  return async (query) => {
    const asked = query.slice(0, MAX_QUERY_LENGTH).trim()
    search ??= createSearch(await library.loadAll())
    const page = recent.get(asked) ?? searchView(asked, search(asked))
    recent.delete(asked)
    recent.set(asked, page)
    const [oldest] = recent.size > MAX_RESULT_PAGES ? recent.keys() : []
    if (oldest !== undefined) recent.delete(oldest)
    return page
  }
}

/** The error page of the site's addresses; `otherwise` renders that of all others. */
export function docsErrorPage(otherwise: ErrorPage): ErrorPage {
  return (input) => {
    if (!/^\/docs(?:\/|$)/.test(input.path)) return otherwise(input)
    return { http: input.http, html: errorView(input.http, input.apiError.message, input.requestId) }
  }
}
