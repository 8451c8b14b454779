// The markdown of a page as the site serves it: links lead to the markdown of other pages, under the address of this service.

import { withUrl } from './code-blocks.ts'
import { resolveLink, titleOfLink } from './links.ts'
import { DOCS_PAGES } from './pages.ts'

// A fence, a code span, or a link or image. The first that begins counts, so a link in code stays as it is.
const FENCE = /^(?<indent> *)(?<fence>`{3,}|~{3,})[^\n]*\n[\s\S]*?^\k<indent>\k<fence>[ \t]*$/
const SPAN = /(?<ticks>`+)(?!`)[\s\S]*?[^`]\k<ticks>(?!`)/
const LINK =
  /(?<image>!?)\[(?<text>(?:\\.|`[^`]*`|[^[\]\\`]|!?\[[^\]]*\](?:\([^)]*\))?)*)\]\((?<href>[^\s()]+)\)/
const PIECE = new RegExp([FENCE, SPAN, LINK].map(({ source }) => source).join('|'), 'gm')

/** `file` is the path from the root of the repository, which relative links start from. */
export function servedMarkdown(file: string, markdown: string, url: string): string {
  return markdown.replaceAll(PIECE, (whole: string, ...rest: unknown[]) => {
    // A boundary: the named groups are the last argument of the callback.
    const { fence, image = '', text = '', href } = rest.at(-1) as Partial<Record<string, string>>
    if (fence !== undefined) return withUrl(whole, { url })
    return href === undefined ? whole : linkFrom(file, { image, text, href }, url)
  })
}

function linkFrom(
  file: string,
  { image, text, href }: Record<'image' | 'text' | 'href', string>,
  url: string,
) {
  const target = resolveLink(file, href)
  // A file of the repository that is not on the site.
  if (target === null) return text.replace(/^(?:\.\.\/)+/, '')
  const label = (text.endsWith('.md') && titleOfLink(target)) || text
  return `${image}[${label}](${target.startsWith('/') ? url + markdownPath(target) : target})`
}

const SLUGS: ReadonlySet<string> = new Set(DOCS_PAGES.map(({ slug }) => slug))

/** Pages have a markdown form; the API reference and files have none. */
function markdownPath(path: string): string {
  return path.replace(/^\/docs\/([\w-]+)(?=#|$)/, (page, slug: string) =>
    SLUGS.has(slug) ? `${page}.md` : page,
  )
}
