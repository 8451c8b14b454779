// Schema types for Stripe's objects.

import { Type } from 'typebox'

/** Texts have a maximum length: Stripe writes no longer ones. */
export const Text = (maxLength: number) => Type.String({ maxLength })

/** An object is its id, or the whole object if the request expands it. */
export function idOf(value: unknown): string | null {
  if (typeof value === 'string') return value
  const isObject = typeof value === 'object' && value !== null
  return isObject && 'id' in value && typeof value.id === 'string' ? value.id : null
}

export const Identity = Type.String({ minLength: 1, maxLength: 255 })
/** Above the safe integers a number was rounded when it was parsed. */
export const Amount = Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER })
export const UnixSeconds = Type.Integer({ minimum: 0, maximum: 99_999_999_999 })
export const Metadata = Type.Record(Type.String(), Type.Unknown())
