// The pages of the site, each read and rendered at its first use and then kept. The renderer itself is loaded at the first
// use too, so that the start of the service does not wait for it.

import { readFile } from 'node:fs/promises'
import type { RenderedMarkdown } from './markdown.ts'
import { DOCS_PAGES, type DocsPage } from './pages.ts'
import { servedMarkdown } from './served-markdown.ts'

export interface LibraryPage extends DocsPage {
  /** As it is served: with the addresses of this service. */
  markdown: string
  rendered: RenderedMarkdown
}

export interface Library {
  load(page: DocsPage): Promise<LibraryPage>
  loadAll(): Promise<LibraryPage[]>
}

const ROOT = new URL('../../', import.meta.url)

export function readDocsFile(file: string): Promise<Buffer> {
  return readFile(new URL(file, ROOT))
}

export function createLibrary(publicUrl: () => string): Library {
  const loaded = new Map<string, Promise<LibraryPage>>()
  const load = (page: DocsPage) => {
    const known = loaded.get(page.slug) ?? readPage(page, publicUrl())
    loaded.set(page.slug, known)
    // A file that could not be read is tried again at the next request.
    known.catch(() => loaded.delete(page.slug))
    return known
  }
  return { load, loadAll: () => Promise.all(DOCS_PAGES.map(load)) }
}

/** The generated files say for contributors where they come from; readers of the site cannot change them. */
const SOURCE_LINE = /^Written from `[^`]+` by `npm run docs`.*\n\n/m

async function readPage(page: DocsPage, url: string): Promise<LibraryPage> {
  const [{ renderMarkdown }, bytes] = await Promise.all([import('./markdown.ts'), readDocsFile(page.file)])
  const text = bytes.toString().replace(SOURCE_LINE, '')
  const markdown = servedMarkdown(page.file, text, url)
  return { ...page, markdown, rendered: renderMarkdown(page.file, text, { url }) }
}
