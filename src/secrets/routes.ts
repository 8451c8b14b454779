// The operators' endpoint that retires old encryption keys.

import { Type } from 'typebox'
import { type OperatorRoute, ok, operatorRoute } from '../kit/http/route.ts'
import { Nullable } from '../kit/http/schema.ts'
import { type ResealApp, resealBatch } from './reseal.ts'

const DEFAULT_LIMIT = 500

const ResealBody = Type.Object({
  /** The cursor of the previous batch; absent: a new pass. */
  cursor: Type.Optional(Type.String({ maxLength: 1_000 })),
  /** The rows of a batch. */
  limit: Type.Optional(Type.Integer({ minimum: 1, maximum: 1_000, default: DEFAULT_LIMIT })),
})

const ResealRecord = Type.Object({
  keyId: Type.String(),
  table: Type.String(),
  read: Type.Integer(),
  resealed: Type.Integer(),
  left: Type.Record(Type.String(), Type.Integer()),
  isCheck: Type.Boolean(),
  cursor: Nullable(Type.String()),
  retiredKeys: Type.Array(Type.String()),
})

export function encryptionRoutes(app: ResealApp): OperatorRoute[] {
  return [
    // One entry of the audit log for the retired keys: the batches change no value, only how it is encrypted.
    operatorRoute({
      method: 'POST',
      path: '/admin/v1/encryption/reseal',
      summary: 'Encrypt a batch of values of older keys again with the first key of COWRY_ENCRYPTION_KEYS',
      body: ResealBody,
      response: { http: 200, data: ResealRecord },
      errors: ['validation_failed'],
      handle: async ({ body }) =>
        ok('Batch done.', await resealBatch(app, { ...body, limit: body.limit ?? DEFAULT_LIMIT })),
    }),
  ]
}
