// The search: full text on the server, and a small index of titles and headings that the script of the page loads.

import type { LibraryPage } from './library.ts'

export interface SearchResult {
  path: string
  page: string
  /** The heading; equal to the page's title for the text above the first heading. */
  title: string
  excerpt: string
}

/** A longer query is cut: the input on the page has this limit too. */
export const MAX_QUERY_LENGTH = 100
/** Further words are ignored, because each word costs a pass over the text. */
const MAX_WORDS = 8
export const MAX_RESULTS = 30

/** A section with its texts in lower case, which are made once. */
interface IndexedSection {
  path: string
  page: string
  title: string
  text: string
  isTop: boolean
  lower: { title: string; page: string; text: string }
}

/** Finds the sections that contain every word of the query, those with the words in their headings first. */
export type Search = (query: string) => SearchResult[]

export function createSearch(pages: readonly LibraryPage[]): Search {
  const sections = pages.flatMap(indexPage)
  return (query) => {
    const words = wordsOf(query)
    if (words.length === 0) return []
    return sections
      .map((section) => ({ section, score: scoreOf(section, words) }))
      .filter(({ score }) => score > 0)
      .toSorted((one, other) => other.score - one.score)
      .slice(0, MAX_RESULTS)
      .map(({ section: { path, page, title, text, lower } }) => {
        return { path, page, title, excerpt: excerptOf(text, lower.text, words) }
      })
  }
}

function indexPage({ slug, title: page, rendered }: LibraryPage): IndexedSection[] {
  return rendered.sections.map(({ id, title, text }) => ({
    path: id === null ? `/docs/${slug}` : `/docs/${slug}#${id}`,
    page,
    title: id === null ? page : title,
    text,
    isTop: id === null,
    lower: { title: title.toLowerCase(), page: page.toLowerCase(), text: text.toLowerCase() },
  }))
}

function wordsOf(query: string): string[] {
  const words = query.slice(0, MAX_QUERY_LENGTH).toLowerCase().split(/\s+/).filter(Boolean)
  return [...new Set(words)].slice(0, MAX_WORDS)
}

/** 0 unless every word occurs. A heading counts more than the page's title, and that more than the text. */
function scoreOf({ lower, isTop }: IndexedSection, words: readonly string[]): number {
  let sum = 0
  for (const word of words) {
    const inTitle = lower.title.includes(word) ? (lower.title === word ? 40 : 10) : 0
    const inPage = lower.page.includes(word) ? (isTop ? 12 : 3) : 0
    const score = inTitle + inPage + (lower.text.includes(word) ? 1 : 0)
    if (score === 0) return 0
    sum += score
  }
  return sum
}

const EXCERPT_LENGTH = 180

/** Some text around the first word that occurs; the beginning if the words are in the heading only. */
function excerptOf(text: string, lower: string, words: readonly string[]): string {
  const found = words.map((word) => lower.indexOf(word)).filter((at) => at >= 0)
  const around = found.length === 0 ? 0 : Math.max(0, Math.min(...found) - 60)
  const start = around === 0 ? 0 : text.indexOf(' ', around) + 1
  const end =
    text.length <= start + EXCERPT_LENGTH ? text.length : text.lastIndexOf(' ', start + EXCERPT_LENGTH)
  return `${start > 0 ? '… ' : ''}${text.slice(start, end)}${end < text.length ? ' …' : ''}`
}

/** For the script: for each page its slug, title, and the anchor and text of each heading. */
export function searchIndex(pages: readonly LibraryPage[]): string {
  return JSON.stringify(
    pages.map(({ slug, title, rendered }) => [
      slug,
      title,
      rendered.headings.filter(({ level }) => level <= 3).map(({ id, text }) => [id, text]),
    ]),
  )
}
