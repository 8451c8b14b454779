// Code samples: a caption with the language, comments and strings in their own colour, and the reader's own values. Samples
// of one step in several languages form a group, which the script of the page turns into tabs.

import { escapeHtml } from '../kit/http/html.ts'

export interface CodeBlock {
  language: string
  text: string
}

/** What the samples are filled with. */
export interface Samples {
  /** The address of this service, for $COWRY_URL. */
  url: string
}

interface Language {
  label: string
  comment: RegExp | null
}

const HASH_COMMENT = /(?<=^|\s)#.*/
const SLASH_COMMENT = /(?<=^|\s)\/\/.*|\/\*[\s\S]*?\*\//

const LANGUAGES: Readonly<Record<string, Language>> = {
  bash: { label: 'curl', comment: HASH_COMMENT },
  ts: { label: 'TypeScript', comment: SLASH_COMMENT },
  python: { label: 'Python', comment: HASH_COMMENT },
  php: { label: 'PHP', comment: SLASH_COMMENT },
  sh: { label: 'Shell', comment: HASH_COMMENT },
  js: { label: 'JavaScript', comment: SLASH_COMMENT },
  json: { label: 'JSON', comment: null },
  text: { label: 'Output', comment: null },
  http: { label: 'Request', comment: null },
  sql: { label: 'SQL', comment: /--.*/ },
}

const TAB_LANGUAGES: ReadonlySet<string> = new Set(['bash', 'ts', 'python', 'php'])

/** The first word of the info string, such as ts in "ts quickstart.ts". */
export function languageOf(info: string | undefined): string {
  return /^[\w-]*/.exec(info ?? '')?.[0].toLowerCase() ?? ''
}

export function isTabLanguage(language: string): boolean {
  return TAB_LANGUAGES.has(language)
}

export function renderTabs(blocks: readonly CodeBlock[], samples: Samples): string {
  return `<div class="tabs">${blocks.map((block) => renderCode(block, samples)).join('')}</div>\n`
}

export function renderCode({ language, text }: CodeBlock, samples: Samples): string {
  const caption = captionOf(language, text)
  const label = caption === null ? '' : `<p class="caption">${caption}</p>`
  const code = highlight(LANGUAGES[language], withUrl(text, samples))
  return `<div class="code" data-language="${escapeHtml(language)}">${label}<pre tabindex="0"><code>${code}</code></pre></div>\n`
}

function captionOf(language: string, text: string): string | null {
  if (language === 'bash' && !/\bcurl\b/.test(text)) return 'Shell'
  return LANGUAGES[language]?.label ?? null
}

/** The reader of this page has the service at this address. Without quotes, so that the key is not part of a string. */
export function withUrl(text: string, { url }: Samples): string {
  return text
    .replaceAll('http://127.0.0.1:8080', url)
    .replaceAll(/\$(?:COWRY_URL\b|\{COWRY_URL\})/g, url)
    .replaceAll(/(?<=\bexport COWRY_URL=)(['"]?)[^\s'"]+\1/g, url)
    .replaceAll(/(?<=\bexport COWRY_API_KEY=)(['"])([^\s'"]+)\1/g, '$2')
}

// A string ends on its line, except in backticks; an apostrophe in a word begins none.
const STRING = /(?<!\w)'(?:[^'\\\n]|\\.)*'|"(?:[^"\\\n]|\\.)*"|`(?:[^`\\]|\\[\s\S])*`/

function highlight(language: Language | undefined, text: string): string {
  if (!language) return fillable(text)
  const sources = [STRING.source, ...(language.comment ? [`(?<comment>${language.comment.source})`] : [])]
  const token = new RegExp(sources.join('|'), 'gm')
  let html = ''
  let end = 0
  for (const match of text.matchAll(token)) {
    html += fillable(text.slice(end, match.index))
    const name = match.groups?.comment === undefined ? 'string' : 'comment'
    html += `<span class="${name}">${fillable(match[0])}</span>`
    end = match.index + match[0].length
  }
  return html + fillable(text.slice(end))
}

/** The script of the page writes the reader's key into these elements. Without it the placeholder stays. */
function fillable(text: string): string {
  return escapeHtml(text).replaceAll(
    /\$(?:COWRY_API_KEY\b|\{COWRY_API_KEY\})|(?<=\bexport COWRY_API_KEY=)[^\s&]+/g,
    (placeholder) => `<span data-fill="key">${placeholder}</span>`,
  )
}
