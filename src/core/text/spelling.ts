// Finds the known name that a mistyped name was probably meant to be.

import type { Issue } from '../errors.ts'

/** A longer name is no typing error of a known one, and the comparison takes quadratic time. */
const MAX_LENGTH = 64

/** The closest candidate, if it differs in about one letter out of three at most; letter case does not count. */
export function nearestName(name: string, candidates: readonly string[]): string | undefined {
  if (name.length > MAX_LENGTH) return undefined
  const allowed = Math.min(3, Math.max(1, Math.floor(name.length / 3)))
  const wanted = name.toLowerCase()
  const distances = candidates.map((candidate) => ({
    candidate,
    distance: editDistance(wanted, candidate.toLowerCase()),
  }))
  const closest = distances.toSorted((one, other) => one.distance - other.distance)[0]
  return closest && closest.distance <= allowed ? closest.candidate : undefined
}

/** Letters to insert, drop, replace or exchange with their neighbour. */
function editDistance(from: string, to: string): number {
  let beforeLast: number[] = []
  let last = Array.from({ length: to.length + 1 }, (_, column) => column)
  for (let row = 1; row <= from.length; row++) {
    const next = [row]
    for (let column = 1; column <= to.length; column++) {
      const isSame = from[row - 1] === to[column - 1]
      const isExchanged = from[row - 1] === to[column - 2] && from[row - 2] === to[column - 1]
      const replaced = (last[column - 1] ?? 0) + (isSame ? 0 : 1)
      const exchanged = isExchanged ? (beforeLast[column - 2] ?? 0) + 1 : replaced
      next.push(Math.min(replaced, exchanged, (last[column] ?? 0) + 1, (next[column - 1] ?? 0) + 1))
    }
    beforeLast = last
    last = next
  }
  return last[to.length] ?? 0
}

/** The sentence that names the value that was probably meant; none if no value is close. */
export function suggestName(value: string, allowed: readonly string[]): string[] {
  const meant = nearestName(value, allowed)
  return meant === undefined ? [] : [`Did you mean ${meant}?`]
}

/** The issue about a field that takes one of these values, where the schema does not know them. */
export function oneOfIssue(field: string, value: string, allowed: readonly string[]): Issue {
  const sentences = [`${field} must be one of ${allowed.join(', ')}.`, ...suggestName(value, allowed)]
  return { field, code: 'not_allowed', message: sentences.join(' ') }
}

/** Without case and punctuation: redirect_url, redirect-url and redirectUrl are the same name. */
export function squashName(name: string): string {
  return name.toLowerCase().replaceAll(/[^\p{L}\p{N}]/gu, '')
}
