/**
 * The text of a document in a file: one line for each path and each component, so that a difference is easy to read and
 * the file is hardly larger than without line breaks.
 */
export function renderDocument(document: object): string {
  return `${renderMembers(document, 3)}\n`
}

function renderMembers(value: unknown, depth: number): string {
  if (depth === 0 || typeof value !== 'object' || value === null || Array.isArray(value))
    return JSON.stringify(value)
  const members = Object.entries(value).filter(([, member]) => member !== undefined)
  const lines = members.map(([name, member]) => {
    const isLarge = JSON.stringify(member).length > LONG_LINE
    return `${JSON.stringify(name)}: ${renderMembers(member, isLarge ? depth - 1 : 0)}`
  })
  return `{\n${lines.join(',\n')}\n}`
}

/** Shorter members stay on one line. */
const LONG_LINE = 2_000
