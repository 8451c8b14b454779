// Parameters and error responses that several operations have are written once in the document.

import type { JsonSchema } from '../input/json-schema.ts'
import type { Components } from './components.ts'
import { pascalCase } from './components.ts'

export interface SharedPart {
  /** What it is called in its operation: the name of a parameter, or an HTTP status. */
  key: string
  /** Its name if it is shared. */
  name: string
  /** The id of the operation. */
  owner: string
  content: JsonSchema
}

/**
 * Returns what an operation has for a part: a reference, or the part itself if no other operation has the same one. If
 * several different parts want one name, the most frequent one gets it; others have the operation before their name.
 */
export function shareParts(
  parts: readonly SharedPart[],
  components: Components,
  kind: 'parameters' | 'responses',
): (part: SharedPart) => JsonSchema {
  const references = new Map<string, JsonSchema>()
  for (const group of Object.values(Object.groupBy(parts, ({ name }) => name))) {
    const contents = Object.values(Object.groupBy(group ?? [], ({ content }) => JSON.stringify(content)))
    const shared = contents.filter((uses) => uses !== undefined).filter((uses) => uses.length > 1)
    const byFrequency = shared.toSorted((one, other) => other.length - one.length)
    for (const [index, [first]] of byFrequency.entries()) {
      if (!first) continue
      const name = index === 0 ? first.name : pascalCase(first.owner) + first.name
      // Generators have one namespace: beside the record Customer, a parameter Customer would become Customer2.
      const free = components.has('schemas', name) ? `${name}Filter` : name
      references.set(JSON.stringify(first.content), components.add(kind, free, first.content))
    }
  }
  return ({ content }) => references.get(JSON.stringify(content)) ?? content
}
