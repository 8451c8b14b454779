// The limits of metadata, the same for every record that has some.

import type { Issue } from '../../core/errors.ts'
import type { BodyFacts } from './route.ts'

const METADATA_MAX_KEYS = 50
const METADATA_MAX_KEY_LENGTH = 40
const METADATA_MAX_TEXT_LENGTH = 500
const METADATA_MAX_BYTES = 16 * 1024

/** Issues of a request's metadata beyond its schema. */
export function metadataIssues(metadata: unknown, facts: BodyFacts): Issue[] {
  if (typeof metadata !== 'object' || metadata === null || Array.isArray(metadata)) return []
  const issues: Issue[] = []
  const addIssue = (field: string, code: string, message: string) => issues.push({ field, code, message })
  if (Object.keys(metadata).length > METADATA_MAX_KEYS) {
    addIssue('metadata', 'too_long', `metadata may have at most ${METADATA_MAX_KEYS} keys.`)
  }
  if (Buffer.byteLength(JSON.stringify(metadata)) > METADATA_MAX_BYTES) {
    addIssue('metadata', 'too_long', 'metadata may have at most 16 KB as JSON.')
  }
  walkMetadata('metadata', metadata, addIssue)
  // If stored, the number would come back different from what the merchant sent.
  for (const path of [...facts.lossyNumbers].filter((one) => one.startsWith('metadata.'))) {
    addIssue(path, 'out_of_range', `${path} has more digits than a JSON number can carry; send it as text.`)
  }
  return issues
}

function walkMetadata(
  path: string,
  value: unknown,
  addIssue: (field: string, code: string, message: string) => void,
): void {
  if (typeof value === 'string' && [...value].length > METADATA_MAX_TEXT_LENGTH) {
    addIssue(path, 'too_long', `${path} may have at most ${METADATA_MAX_TEXT_LENGTH} characters.`)
  }
  if (typeof value !== 'object' || value === null) return
  for (const [key, inner] of Object.entries(value)) {
    if ([...key].length > METADATA_MAX_KEY_LENGTH) {
      addIssue(path, 'too_long', `A key of ${path} has more than ${METADATA_MAX_KEY_LENGTH} characters.`)
    } else walkMetadata(`${path}.${key}`, inner, addIssue)
  }
}
