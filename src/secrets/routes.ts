// The operators' endpoint that retires old encryption keys.

import { Type } from 'typebox'
import { type OperatorRoute, ok, operatorRoute } from '../kit/http/route.ts'
import { count, flag, Nullable, namedObject, text } from '../kit/http/schema.ts'
import { type ResealApp, resealBatch } from './reseal.ts'

const DEFAULT_LIMIT = 500

const ResealBody = namedObject('ResealRequest', {
  cursor: Type.Optional(
    Type.String({
      maxLength: 1_000,
      description: 'The cursor of the previous batch. Absent: a new pass begins.',
    }),
  ),
  limit: Type.Optional(
    Type.Integer({
      minimum: 1,
      maximum: 1_000,
      default: DEFAULT_LIMIT,
      description: 'The number of rows of the batch.',
    }),
  ),
})

const ResealRecord = namedObject(
  'ResealProgress',
  {
    keyId: text('The id of the key that encrypts now: the first of COWRY_ENCRYPTION_KEYS.', 'k2'),
    table: text('The table of the batch.', 'payments'),
    read: count('How many rows were read.'),
    resealed: count('How many values were encrypted again.'),
    left: Type.Record(Type.String(), Type.Integer(), {
      description:
        'How many values could not be encrypted again, by the id of their key: they do not decrypt, or the row was changed at the same time.',
      examples: [{ k1: 2 }],
    }),
    isCheck: flag('Whether it is the pass that checks again after one that found nothing.'),
    cursor: Nullable(Type.String(), 'Send it for the next batch. Null at the end.'),
    retiredKeys: Type.Array(Type.String(), {
      description:
        'The ids of the keys that are not needed any more: remove them from COWRY_ENCRYPTION_KEYS.',
    }),
  },
  { description: 'The result of a batch.' },
)

export function encryptionRoutes(app: ResealApp): OperatorRoute[] {
  return [
    // One entry of the audit log for the retired keys: the batches change no value, only how it is encrypted.
    operatorRoute({
      method: 'POST',
      path: '/admin/v1/encryption/reseal',
      operationId: 'encryption.reseal',
      summary: 'Encrypt a batch of values of older keys again with the first key of COWRY_ENCRYPTION_KEYS',
      description:
        'Repeat it with the cursor of each response until the cursor is null; then the retired keys can be removed from the setting. `cowry keys reseal` does so.',
      body: ResealBody,
      response: { http: 200, data: ResealRecord },
      errors: ['validation_failed'],
      examples: {
        body: { limit: 100 },
        data: {
          keyId: 'k2',
          table: 'gateway_accounts',
          read: 1,
          resealed: 1,
          left: {},
          isCheck: false,
          cursor: null,
          retiredKeys: [],
        },
      },
      handle: async ({ body }) =>
        ok('Batch done.', await resealBatch(app, { ...body, limit: body.limit ?? DEFAULT_LIMIT })),
    }),
  ]
}
