// Where a link of a markdown file leads on the site.

import { posix } from 'node:path'
import { DOCS_FILES, DOCS_PAGES } from './pages.ts'

const PATHS: ReadonlyMap<string, string> = new Map([
  ...DOCS_PAGES.map(({ file, slug }) => [file, `/docs/${slug}`] as const),
  ...DOCS_FILES.map(({ file, name }) => [file, `/docs/files/${name}`] as const),
])

/** The address on the site; null for a file of the repository that the site does not have. `file` contains the link. */
export function resolveLink(file: string, href: string): string | null {
  if (/^(?:https?:|mailto:|#|\/)/.test(href)) return href
  const [target = '', anchor] = href.split('#', 2)
  const path = PATHS.get(posix.join(posix.dirname(file), target))
  if (path === undefined) return null
  return anchor === undefined ? path : `${path}#${anchor}`
}

/** The title of the page that a link leads to. */
export function titleOfLink(target: string): string | undefined {
  return DOCS_PAGES.find(({ slug }) => target === `/docs/${slug}`)?.title
}
