// The arguments that several tools share.

import { Type } from 'typebox'

export const Time = (description: string) =>
  Type.String({
    maxLength: 40,
    description: `${description} ISO 8601 with a zone, such as 2026-01-31T08:00:00Z.`,
  })

export const Cursor = Type.String({ maxLength: 300, description: 'nextCursor of the previous answer.' })

/** A number or a decimal string, as the API takes it. */
export const Amount = (description: string) =>
  Type.Union([Type.Number({ minimum: 0 }), Type.String({ pattern: '^\\d{1,12}(?:\\.\\d{1,2})?$' })], {
    description: `${description} In major units, such as 1250.5 or "1250.50".`,
  })

export const RecordUuid = (description: string) =>
  Type.String({
    pattern: '^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$',
    description,
  })

export const counted = (count: number, one: string, many = `${one}s`) =>
  `${count} ${count === 1 ? one : many}`
