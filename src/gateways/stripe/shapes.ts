// The types in which the shapes of Stripe's objects are written down, and how they are read.

import { type TSchema, Type } from 'typebox'
import { Nullable } from '../../kit/schema.ts'

/** Every text has an end: what does not fit was not written by this provider. */
export const Text = (maxLength: number) => Type.String({ maxLength })
export const Maybe = <Schema extends TSchema>(schema: Schema) => Type.Optional(Nullable(schema))

export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    // Not JSON has no shape, like null.
    return null
  }
}

/** An object comes as its id, or whole where it was asked for. */
export function idOf(value: unknown): string | null {
  if (typeof value === 'string') return value
  const isObject = typeof value === 'object' && value !== null
  return isObject && 'id' in value && typeof value.id === 'string' ? value.id : null
}

export const Identity = Type.String({ minLength: 1, maxLength: 255 })
/** Beyond the safe integers a number was rounded while it was read. */
export const Amount = Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER })
export const UnixSeconds = Type.Integer({ minimum: 0, maximum: 99_999_999_999 })
export const Metadata = Type.Record(Type.String(), Type.Unknown())
