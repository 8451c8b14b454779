// A person writes a note on a payment.

import { assertNoCardNumbers } from '../core/card-number.ts'
import type { Merchant, Principal } from '../core/merchant.ts'
import { createIdempotently, type IdempotentResult } from '../kit/db/idempotency.ts'
import type { PaymentsApp } from '../payments/app.ts'
import { requirePayment } from '../payments/find.ts'
import { findNote, insertNote, type NoteRow } from './queries.ts'

export const PATH = '/app/payments/{uuid}/notes'

export async function createNote(
  app: PaymentsApp,
  merchant: Merchant,
  { id: userId }: Principal,
  { uuid, text }: { uuid: string; text: string },
  key: string | undefined,
): Promise<IdempotentResult<NoteRow>> {
  assertNoCardNumbers({ text })
  const payment = await requirePayment(app, merchant, { uuid })
  const claim = { merchantId: merchant.id, key, operation: `POST ${PATH}`, input: { uuid, text, userId } }
  return createIdempotently<NoteRow>(app, claim, {
    make: async (tx, id) => {
      const owner = { merchantId: merchant.id, paymentId: payment.id, userId }
      const note = { ...owner, id, text, createdAt: app.clock.now() }
      await insertNote(tx, note)
      return note
    },
    find: (id) => findNote(app.db, merchant.id, id),
  })
}
