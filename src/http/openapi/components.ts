// The shared parts of one OpenAPI document. Each is written once, under its name, and referred to.

import { isDeepStrictEqual } from 'node:util'
import type { JsonSchema } from '../input/json-schema.ts'

type Kind = 'schemas' | 'responses' | 'parameters'

export interface Components {
  /** Stores a part and returns the reference to it. The same name for another content is a mistake in the routes. */
  add(kind: Kind, name: string, content: JsonSchema): JsonSchema
  /** Stores a part that takes the place of any other with this name. */
  fix(kind: Kind, name: string, content: JsonSchema): void
  has(kind: Kind, name: string): boolean
  /** In alphabetical order, so that a new route does not move the others. */
  all(kind: Kind): JsonSchema
}

export function createComponents(): Components {
  const parts: Record<Kind, Map<string, JsonSchema>> = {
    schemas: new Map(),
    responses: new Map(),
    parameters: new Map(),
  }
  const fixed = new Set<string>()
  return {
    add(kind, name, content) {
      if (fixed.has(`${kind}/${name}`)) return referenceTo(kind, name)
      const known = parts[kind].get(name) ?? content
      if (!isDeepStrictEqual(withoutDescription(known), withoutDescription(content)))
        throw new Error(`two different ${kind} of the OpenAPI document are named ${name}`)
      parts[kind].set(name, known.description === undefined ? content : known)
      return referenceTo(kind, name)
    },
    fix(kind, name, content) {
      fixed.add(`${kind}/${name}`)
      parts[kind].set(name, content)
    },
    has: (kind, name) => parts[kind].has(name),
    all: (kind) => Object.fromEntries([...parts[kind]].toSorted(([one], [other]) => (one < other ? -1 : 1))),
  }
}

/** An enum may be described where it is named, or in each place. */
function withoutDescription({ description: _, ...content }: JsonSchema): JsonSchema {
  return content
}

const referenceTo = (kind: Kind, name: string): JsonSchema => ({
  $ref: `#/components/${kind}/${name}`,
})

/** payments.initiate becomes PaymentsInitiate, payment_not_found becomes PaymentNotFound. */
export function pascalCase(text: string): string {
  return text
    .split(/[^A-Za-z0-9]+/)
    .map((word) => word.charAt(0).toUpperCase() + word.slice(1))
    .join('')
}
