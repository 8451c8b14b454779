// The words that docs/glossary.md replaces: metaphors, and persons for processes and rows.

import type { TreeFile } from './tree.ts'

const BANNED =
  /\b(?:walls?|walled|crews?|doorbells?|rings?|rang|whoever|nobody|given up|told|complain(?:s|t|ts|ed|ing)?|paces?|forget(?:s|ting)?|forgot(?:ten)?|lanes?|purses?|towns?|weather)\b/i

const NOT_READ = [
  // Texts for payers are in their own languages.
  /^src\/(?:pages|dashboard)\/locales\//,
  // It names what was renamed.
  /^CHANGELOG\.md$/,
  // Names of packages and hashes.
  /^package-lock\.json$/,
  // The words themselves.
  /^test\/tidy(?:\/language|\.test)\.ts$/,
]

/** Each line with such a word, in prose or as a part of a name. */
export function findMetaphors({ path, text }: TreeFile): string[] {
  if (NOT_READ.some((pattern) => pattern.test(path))) return []
  return text
    .split('\n')
    .map((line, index) => ({ line, number: index + 1, word: findMetaphor(line) }))
    .filter(({ word }) => word !== undefined)
    .map(({ line, number, word }) => `${path}:${number} has the word "${word}": ${line.trim()}`)
}

/** The first such word of the line. */
export function findMetaphor(line: string): string | undefined {
  return BANNED.exec(splitNames(line.replaceAll(SYSTEM_USER, '')))?.[0]
}

// The user of the operating system under which PostgreSQL runs when we are root.
const SYSTEM_USER = /(['"`])nobody\1|user nobody|\bNOBODY(?:_UID)?\b/g

/** The words of camelCase and snake_case names. */
function splitNames(line: string): string {
  return line.replaceAll(/(?<=[a-z0-9])(?=[A-Z])/g, ' ').replaceAll('_', ' ')
}
