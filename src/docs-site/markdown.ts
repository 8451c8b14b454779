// Renders a markdown file of the repository as the HTML of one page. HTML in the markdown is shown as text, so a page
// contains only elements that are made here.

import { Marked, Renderer, type Token, type Tokens } from 'marked'
import { escapeHtml } from '../kit/http/html.ts'
import {
  type CodeBlock,
  isTabLanguage,
  languageOf,
  renderCode,
  renderTabs,
  type Samples,
} from './code-blocks.ts'
import { createAnchors } from './headings.ts'
import { resolveLink, titleOfLink } from './links.ts'
import { drawStateDiagram, isStateDiagram } from './state-diagram.ts'

export interface Heading {
  level: number
  id: string
  text: string
}

/** The text under one heading, for the search. The first section has no id. */
interface Section {
  id: string | null
  title: string
  text: string
}

export interface RenderedMarkdown {
  title: string
  html: string
  /** Without the title of the page. */
  headings: readonly Heading[]
  sections: readonly Section[]
  /** Where the links lead: site paths, anchors and other servers. */
  links: readonly string[]
}

/** `file` is the path from the root of the repository, which relative links start from. */
export function renderMarkdown(file: string, text: string, samples: Samples): RenderedMarkdown {
  const links: string[] = []
  const marked = createMarked(file, samples, links)
  const anchorOf = createAnchors()
  const headings: Heading[] = []
  const sections: { id: string | null; title: string; html: string }[] = []
  const pieces: string[] = []
  let title = ''
  for (const token of groupTabs(marked.lexer(text))) {
    const html = Array.isArray(token) ? renderTabs(token, samples) : renderTop(token)
    pieces.push(html)
    const section = sections.at(-1)
    if (section && (Array.isArray(token) || token.type !== 'heading')) section.html += html
  }
  return {
    title,
    html: pieces.join(''),
    headings,
    sections: sections.map(({ id, title: heading, html }) => ({ id, title: heading, text: plainText(html) })),
    links,
  }

  function renderTop(token: Token): string {
    if (token.type !== 'heading') return marked.parser([token])
    const { depth, tokens = [] } = token as Tokens.Heading
    const inner = marked.Parser.parseInline(tokens, marked.defaults)
    const text = plainText(inner)
    const heading = { level: depth, id: anchorOf(text), text }
    const isTitle = depth === 1 && title === ''
    sections.push({ id: isTitle ? null : heading.id, title: heading.text, html: '' })
    if (isTitle) {
      title = heading.text
      return `<h1>${inner}</h1>\n`
    }
    headings.push(heading)
    return `<h${depth} id="${heading.id}"><a href="#${heading.id}">${inner}</a></h${depth}>\n`
  }
}

/** Consecutive samples in different languages become one group. */
function groupTabs(tokens: readonly Token[]): (Token | CodeBlock[])[] {
  const grouped: (Token | CodeBlock[])[] = []
  let samples: Tokens.Code[] = []
  const flush = () => {
    if (samples.length > 1) grouped.push(samples.map(toCodeBlock))
    else grouped.push(...samples)
    samples = []
  }
  for (const token of tokens) {
    if (token.type === 'space') continue
    const language = token.type === 'code' ? languageOf((token as Tokens.Code).lang) : ''
    const isSample = token.type === 'code' && isTabLanguage(language)
    if (!isSample || samples.some(({ lang }) => languageOf(lang) === language)) flush()
    if (isSample) samples.push(token as Tokens.Code)
    else grouped.push(token)
  }
  flush()
  return grouped
}

const toCodeBlock = ({ lang, text }: Tokens.Code): CodeBlock => ({ language: languageOf(lang), text })

function createMarked(file: string, samples: Samples, links: string[]): Marked {
  return new Marked({
    gfm: true,
    renderer: {
      html: ({ text }) => renderRawHtml(text),
      code: ({ lang, text }) =>
        isStateDiagram(text)
          ? drawStateDiagram(text)
          : renderCode({ language: languageOf(lang), text }, samples),
      // Wide tables scroll in their own box, which the keyboard can reach.
      table(token) {
        if (token.header.length > 2)
          return stackingTable(token, (cell) => this.parser.parseInline(cell.tokens))
        const table = Renderer.prototype.table.call(this, token)
        return `<div class="table" role="group" aria-label="Table" tabindex="0">${table}</div>\n`
      },
      // A header cell without text would be a header without a name.
      tablecell(token) {
        return token.header && token.text === ''
          ? '<td></td>\n'
          : Renderer.prototype.tablecell.call(this, token)
      },
      // A list to tick on paper or in a copy; an input without a label would say nothing to a screen reader.
      checkbox: ({ checked }) => (checked ? '☑ ' : '☐ '),
      codespan: ({ text }) => `<code>${escapeHtml(text)}</code>`,
      image: ({ href, text }) => {
        const target = resolveLink(file, href)
        links.push(target ?? href)
        // Below the first view, and its size is not known.
        return `<img src="${escapeHtml(target ?? '')}" alt="${escapeHtml(text)}" loading="lazy">`
      },
      link({ href, text, tokens }) {
        const target = resolveLink(file, href)
        // In the repository a link may show the name of its file; on the site it shows the title of the page.
        const title = text.endsWith('.md') && target !== null ? titleOfLink(target) : undefined
        const inner = title === undefined ? this.parser.parseInline(tokens) : escapeHtml(title)
        // A file of the repository that is not on the site.
        if (target === null) return `<span class="file">${inner}</span>`
        links.push(target)
        return `<a href="${escapeHtml(target)}">${inner}</a>`
      },
    },
  })
}

/**
 * On a narrow screen the rows become a list, each cell with the name of its column. Then browsers see no table any more, so
 * the roles say it.
 */
function stackingTable({ header, rows }: Tokens.Table, inner: (cell: Tokens.TableCell) => string): string {
  const names = header.map(({ text }) => text.replaceAll('`', ''))
  const heads = header.map((cell) =>
    cell.text === '' ? '<td role="cell"></td>' : `<th role="columnheader">${inner(cell)}</th>`,
  )
  const cells = (row: readonly Tokens.TableCell[]) =>
    row.map((cell, at) => {
      const label = at === 0 || cell.text === '' ? '' : ` data-label="${escapeHtml(names[at] ?? '')}"`
      return `<td role="cell"${label}>${inner(cell)}</td>`
    })
  const lines = rows.map((row) => `<tr role="row">${cells(row).join('')}</tr>`)
  return `<div class="table stacking" role="group" aria-label="Table" tabindex="0"><table role="table">
<thead role="rowgroup"><tr role="row">${heads.join('')}</tr></thead>
<tbody role="rowgroup">${lines.join('\n')}</tbody></table></div>
`
}

const LINE_BREAK = /^<br\s*\/?>$/i
const COMMENT = /^\s*<!--[\s\S]*?-->\s*$/

function renderRawHtml(text: string): string {
  if (COMMENT.test(text)) return ''
  return LINE_BREAK.test(text) ? '<br>' : escapeHtml(text)
}

const ENTITIES: Readonly<Record<string, string>> = {
  '&amp;': '&',
  '&lt;': '<',
  '&gt;': '>',
  '&quot;': '"',
  '&#39;': "'",
}

/** The text of HTML that was made here. Blocks, cells and line breaks separate words; other elements do not. */
function plainText(html: string): string {
  return html
    .replaceAll(/<\/(?:p|li|td|th|pre|div|text|desc|h\d)>|<br>/g, ' ')
    .replaceAll(/<[^>]*>/g, '')
    .replaceAll(/&(?:amp|lt|gt|quot|#39);/g, (entity) => ENTITIES[entity] ?? entity)
    .replaceAll(/\s+/g, ' ')
    .trim()
}
