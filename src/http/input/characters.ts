// The characters that text fields refuse. NUL breaks PostgreSQL's text, lone surrogates break its jsonb, and other
// control characters break logs, headers and terminals.

import type { Issue } from '../../core/errors.ts'
import { sanitizeText } from '../../core/sanitize-text.ts'

// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what this looks for.
const CONTROL = /[\u0000-\u001f\u007f-\u009f]/
// biome-ignore lint/suspicious/noControlCharactersInRegex: the same, with tab and newline left out.
const CONTROL_IN_LINES = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/

/** A longer path is cut in an issue: the client chooses the keys, and the response must stay small. */
const MAX_FIELD_LENGTH = 200

export type Path = readonly (string | number)[]

export function findCharacterIssue(text: string, path: Path, multiline: boolean): Issue | undefined {
  const at = text.search(multiline ? CONTROL_IN_LINES : CONTROL)
  if (at >= 0) {
    const code = text.charCodeAt(at).toString(16).toUpperCase().padStart(4, '0')
    return invalid(path, `must not contain the control character U+${code} (at position ${at + 1}).`)
  }
  if (!text.isWellFormed())
    return invalid(path, 'must be well-formed Unicode: half of a surrogate pair is missing.')
  return undefined
}

function invalid(path: Path, reason: string): Issue {
  const field = fieldName(path)
  return { field, code: 'invalid_characters', message: `${field} ${reason}` }
}

/** The path of a value as issues name it: customer.email, items.0.name. */
export function fieldName(path: Path): string {
  const name = sanitizeText(path.join('.'))
  return name.length > MAX_FIELD_LENGTH ? `${name.slice(0, MAX_FIELD_LENGTH).toWellFormed()}…` : name
}
